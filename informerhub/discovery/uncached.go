package discovery

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Options say which resources are cached. The zero value has sensible defaults. Names are in
// kubectl's syntax.
type Options struct {
	// Uncached names resources that are never cached. A name without a group applies to every
	// group, and the core events are also those of events.k8s.io.
	Uncached []string
	// Cached names resources that are cached although they are not by default: leases.
	Cached []string
	// CacheAggregated names API groups that are cached although the server of an aggregated API
	// serves them, because that server returns the same objects to every user with permission to
	// list them. Other groups of aggregated APIs are not cached.
	CacheAggregated []string
}

// cachedOf returns the lists of groups of aggregated APIs that are cached. Their names are known while
// their server is away, so that their objects are returned from the cache.
func (o Options) cachedOf(lists []*metav1.APIResourceList) (cached []*metav1.APIResourceList) {
	for _, list := range lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		if slices.Contains(o.CacheAggregated, groupVersion.Group) {
			cached = append(cached, list)
		}
	}
	return cached
}

// uncachedByDefault are resources that are cached only if [Options.Cached] names them. A node
// updates its lease every ten seconds, so 10,000 nodes make 1,000 changes a second.
var uncachedByDefault = []string{"leases.coordination.k8s.io"}

// uncachedBy returns the resources that options exclude from caching. named returns the resources that names apply to.
func uncachedBy(options Options, named func(names ...string) map[schema.GroupResource]bool) map[schema.GroupResource]bool {
	excluded := named(uncachedByDefault...)
	for cached := range named(options.Cached...) {
		delete(excluded, cached)
	}
	maps.Copy(excluded, named(options.Uncached...))
	return excluded
}

// named returns the resources that the names of an operator apply to: all that a name can match, and the one that a caller finds by
// it, such as by the beginning of its group.
func (s *Snapshot) named(names ...string) map[schema.GroupResource]bool {
	all := matchingResources(s.lists, names)
	for _, name := range names {
		if found, err := s.search(name); err == nil {
			all[found.GroupResource()] = true
		}
	}
	return all
}

// Applies reports whether a name of an operator, in kubectl's syntax, applies to a resource. A name without a group applies to
// every group. A short name is known only after discovery was read, as it was for a resource that was resolved.
func (r *Resolver) Applies(name string, resource object.Resource) bool {
	itself := metav1.APIResource{Name: resource.Name, SingularName: strings.ToLower(resource.Kind), Kind: resource.Kind}
	if nameMatches(name, resource.GroupVersion(), itself) {
		return true
	}
	known := r.requests.Last()
	return known != nil && known.applies(name, resource.GroupResource())
}

// applies is like Resolver.Applies. The results are remembered, because reads ask again and again for the few names of the settings.
func (s *Snapshot) applies(name string, resource schema.GroupResource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.applied[name]
	if !known {
		found = s.named(name)
		s.applied[name] = found
	}
	return found[resource]
}

// matchingResources returns the resources of some lists that match names in kubectl's syntax, in
// every version. A name that could match several resources matches all of them, because a resource
// that an operator excludes must not be cached under another group.
func matchingResources(lists []*metav1.APIResourceList, names []string) map[schema.GroupResource]bool {
	matching := make(map[schema.GroupResource]bool)
	for _, list := range lists {
		groupVersion, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, served := range list.APIResources {
			if strings.Contains(served.Name, "/") {
				continue
			}
			if slices.ContainsFunc(names, func(name string) bool { return nameMatches(name, groupVersion, served) }) {
				matching[schema.GroupResource{Group: groupVersion.Group, Resource: served.Name}] = true
			}
		}
	}
	return matching
}

// nameMatches reports whether a name can match a resource.
func nameMatches(name string, groupVersion schema.GroupVersion, served metav1.APIResource) bool {
	name, group, qualified := strings.Cut(strings.ToLower(name), ".")
	qualifiers := []string{groupVersion.Group, groupVersion.Version, groupVersion.Version + "." + groupVersion.Group}
	if qualified && !slices.Contains(qualifiers, group) {
		return false
	}
	return slices.Contains(namesOf(served), name)
}

// namesOf returns all names of a resource: its plural, singular, kind and short names.
func namesOf(served metav1.APIResource) []string {
	return append([]string{served.Name, served.SingularName, strings.ToLower(served.Kind)}, served.ShortNames...)
}
