package informerhub

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusedAmong are the resources of some lists that names in kubectl's syntax mean, in
// every version. A name that could mean several resources means all of them: what an
// operator keeps out of memory must not come in under another group.
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

// means reports whether a name can mean a resource.
func means(name string, of schema.GroupVersion, served metav1.APIResource) bool {
	name, within, qualified := strings.Cut(strings.ToLower(name), ".")
	if qualified && !slices.Contains([]string{of.Group, of.Version, of.Version + "." + of.Group}, within) {
		return false
	}
	return slices.Contains(append([]string{served.Name, served.SingularName, strings.ToLower(served.Kind)}, served.ShortNames...), name)
}
