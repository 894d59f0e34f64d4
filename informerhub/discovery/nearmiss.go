package discovery

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
			distance = min(distance, editDistance(base, other))
		}
		if distance <= 1+len(base)/4 {
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

// editDistance returns the number of letters that must be added, removed or changed to turn one
// word into the other (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
