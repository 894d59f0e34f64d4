package discovery

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/spelling"
)

// Snapshot is what the API server served at one time. It is safe for concurrent use.
type Snapshot struct {
	mapper    meta.RESTMapper
	groups    []*restmapper.APIGroupResources
	lists     []*metav1.APIResourceList // of the groups, in their order, and of cached groups that failed
	failed    map[schema.GroupVersion]error
	lastKnown []*metav1.APIResourceList // last known resources of failed groups
	excluded  map[schema.GroupResource]bool
	// aggregated excludes the resources of aggregated APIs from caching, too.
	aggregated aggregation
	mu         sync.Mutex // guards the fields below
	resolved   map[string]object.Resource
	applied    map[string]map[schema.GroupResource]bool // see Resolver.Applies
}

// Serves reports whether a resource is served as described: in its version, with its kind and
// scope, and by a server whose objects may be cached for all callers, unless it is refused in any case. It fails
// if discovery could not read the group.
func (s *Snapshot) Serves(resource object.Resource) (bool, error) {
	if s.aggregated.excludes(resource.GroupResource()) && !resource.Refused {
		return false, nil
	}
	if err := s.failed[resource.GroupVersion()]; err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	found, ok := s.find(resource.GroupVersionResource())
	found.Refused = found.Refused || resource.Refused
	return ok && found == resource, nil
}

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

// unavailable returns an error if a resource's name has a group that discovery could not read, or
// matches a resource that such a group had when it last responded.
func (s *Snapshot) unavailable(name string) error {
	for _, list := range s.lastKnown {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		if slices.ContainsFunc(list.APIResources, func(served metav1.APIResource) bool {
			return nameMatches(name, groupVersion, served)
		}) {
			return &GroupUnavailableError{Name: name, Group: groupVersion.Group}
		}
	}
	for groupVersion, err := range s.failed {
		if group := groupVersion.Group; isUnavailable(err) && group != "" && strings.HasSuffix(name, "."+group) {
			return &GroupUnavailableError{Name: name, Group: group}
		}
	}
	return nil
}

// lastLists are the resources of each version of a group when it last responded, as long as
// discovery names the group.
type lastLists map[schema.GroupVersion]*metav1.APIResourceList

// update records the result of discovery, and returns the recorded lists of groups that did not
// respond this time.
func (l *lastLists) update(
	served []*metav1.APIResourceList, failed map[schema.GroupVersion]error,
) (unavailable []*metav1.APIResourceList) {
	next := make(lastLists)
	for _, list := range served {
		if groupVersion, err := schema.ParseGroupVersion(list.GroupVersion); err == nil {
			next[groupVersion] = list
		}
	}
	for groupVersion, err := range failed {
		if list := (*l)[groupVersion]; list != nil && isUnavailable(err) {
			next[groupVersion] = list
			unavailable = append(unavailable, list)
		}
	}
	*l = next
	return unavailable
}

// isUnavailable reports whether discovery could not read a group. A group that is not found, or has
// no resources, is not served.
func isUnavailable(err error) bool {
	var stale discovery.StaleGroupVersionError
	var status apierrors.APIStatus
	return errors.As(err, &stale) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

func (s *Snapshot) types() (all []Type) {
	for _, group := range s.groups {
		all = append(all, s.typesOf(group)...)
	}
	slices.SortFunc(all, func(a, b Type) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (s *Snapshot) failures() (all []FailedGroupVersion) {
	for groupVersion, err := range s.failed {
		all = append(all, FailedGroupVersion{groupVersion, err})
	}
	slices.SortFunc(all, func(a, b FailedGroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// typesOf returns the resources of a group, in no particular order.
func (s *Snapshot) typesOf(group *restmapper.APIGroupResources) (all []Type) {
	found := make(map[string]int) // index in all, by name
	for _, version := range preferredFirst(group.Group) {
		served := group.VersionedResources[version]
		for _, resource := range served {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			at, known := found[resource.Name]
			if !known {
				at = len(all)
				found[resource.Name] = at
				all = append(all, s.newType(schema.GroupVersion{Group: group.Group.Name, Version: version}, resource, served))
			}
			all[at].Versions = append(all[at].Versions, version)
		}
	}
	return all
}

func (s *Snapshot) offering(resource object.Resource, verb string) (names []string) {
	for _, list := range s.lists {
		if list.GroupVersion != resource.GroupVersion().String() {
			continue
		}
		for _, served := range list.APIResources {
			parent, part, _ := strings.Cut(served.Name, "/")
			if parent == resource.Name && slices.Contains(served.Verbs, verb) {
				names = append(names, part)
			}
		}
	}
	slices.Sort(names)
	return names
}

// newType describes a resource, given all resources that are served in its group and version.
func (s *Snapshot) newType(
	groupVersion schema.GroupVersion, resource metav1.APIResource, served []metav1.APIResource,
) Type {
	result := Type{
		Resource:   s.newResource(groupVersion, resource),
		Singular:   resource.SingularName,
		ShortNames: resource.ShortNames,
		Categories: resource.Categories,
		Verbs:      resource.Verbs,
	}
	for _, other := range served {
		if subresource, ok := strings.CutPrefix(other.Name, resource.Name+"/"); ok {
			result.Subresources = append(result.Subresources, subresource)
		}
	}
	slices.Sort(result.Subresources)
	return result
}
