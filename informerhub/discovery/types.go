package discovery

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// maxTypesAge is the maximum age of a list of types. It bounds the delay until a new CRD is
// visible, and limits frequent callers to one request to the API server a second.
const maxTypesAge = time.Second

// Type is discovery's description of a resource, in the version that the cluster prefers.
type Type struct {
	object.Resource
	Singular     string
	ShortNames   []string
	Categories   []string
	Verbs        []string
	Subresources []string // in order
	Versions     []string // all served versions, the preferred one first
}

// FailedGroupVersion is a version of an API group that discovery could not read, because the API server
// behind it is down.
type FailedGroupVersion struct {
	schema.GroupVersion
	Err error
}

// Types returns the resources that the cluster serves, and the versions of groups whose
// resources are unknown, both in order. The data is at most a second old. The error is an
// [UnavailableError] if discovery could not be read.
func (r *Resolver) Types(ctx context.Context) ([]Type, []FailedGroupVersion, error) {
	recent, err := r.requests.Recent(ctx, maxTypesAge)
	if err != nil {
		return nil, nil, err
	}
	return recent.types(), recent.failures(), nil
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

// preferredFirst returns the versions of a group, the preferred one first.
func preferredFirst(group metav1.APIGroup) []string {
	versions := []string{}
	for _, version := range group.Versions {
		versions = append(versions, version.Version)
	}
	slices.SortStableFunc(versions, func(a, b string) int {
		switch group.PreferredVersion.Version {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return versions
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
