package discovery

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/spelling"
)

const maxNearMisses = 3

// nearMisses returns the names of resources that are similar to an unknown name, the most similar
// first.
func (s *Snapshot) nearMisses(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	var found []candidate
	for full, names := range s.names() {
		distance := len(base)
		for _, other := range names {
			distance = min(distance, spelling.Distance(base, other))
		}
		if distance <= spelling.Limit(base) {
			found = append(found, candidate{full, distance})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.distance, b.distance),
			cmp.Compare(len(a.name), len(b.name)),
			strings.Compare(a.name, b.name))
	})
	var names []string
	for _, near := range found[:min(len(found), maxNearMisses)] {
		names = append(names, near.name)
	}
	return names
}

// names returns all names of each resource, by the name to suggest.
func (s *Snapshot) names() map[string][]string {
	names := make(map[string][]string)
	for _, list := range s.lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") { // a subresource
				continue
			}
			full := schema.GroupResource{Group: groupVersion.Group, Resource: resource.Name}.String()
			names[full] = namesOf(resource)
		}
	}
	return names
}
