package informerhub

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// uncachedByDefault are resources that are cached only if [Options.Preload] names them. A node
// updates its lease every ten seconds, so 10,000 nodes make 1,000 changes a second.
var uncachedByDefault = []string{"leases.coordination.k8s.io"}

// refusedBy returns the resources that options exclude from caching.
func refusedBy(options Options, lists []*metav1.APIResourceList) map[schema.GroupResource]bool {
	refused := refusedAmong(lists, uncachedByDefault)
	for preloaded := range refusedAmong(lists, options.Preload) {
		delete(refused, preloaded)
	}
	maps.Copy(refused, refusedAmong(lists, options.Uncached))
	return refused
}

// refusedAmong returns the resources of some lists that match names in kubectl's syntax, in every
// version. A name that could match several resources matches all of them, because a resource that
// an operator excludes must not be cached under another group.
func refusedAmong(lists []*metav1.APIResourceList, names []string) map[schema.GroupResource]bool {
	refused := make(map[schema.GroupResource]bool)
	for _, list := range lists {
		of, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, served := range list.APIResources {
			if strings.Contains(served.Name, "/") {
				continue
			}
			if slices.ContainsFunc(names, func(name string) bool { return means(name, of, served) }) {
				refused[schema.GroupResource{Group: of.Group, Resource: served.Name}] = true
			}
		}
	}
	return refused
}

// means reports whether a name can match a resource.
func means(name string, of schema.GroupVersion, served metav1.APIResource) bool {
	name, within, qualified := strings.Cut(strings.ToLower(name), ".")
	if qualified && !slices.Contains([]string{of.Group, of.Version, of.Version + "." + of.Group}, within) {
		return false
	}
	return slices.Contains(append([]string{served.Name, served.SingularName, strings.ToLower(served.Kind)}, served.ShortNames...), name)
}
