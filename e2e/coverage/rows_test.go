package coverage_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// row is a resource or a subresource in one version, as discovery lists it.
type row struct {
	apiResource schema.GroupVersionResource
	subresource string // empty for the resource itself
	kind        schema.GroupVersionKind
	namespaced  bool
	verbs       []string
	label       string // a label value that only its objects have
}

// name returns the name in the table: "pods", "pods/status".
func (r row) name() string {
	return strings.TrimSuffix(r.apiResource.Resource+"/"+r.subresource, "/")
}

func (r row) has(verb string) bool { return slices.Contains(r.verbs, verb) }

// rowsOf returns all resources in discovery, except those that are not addresses of objects:
// ordered by group, with the newest version of each first, and by name.
func rowsOf(t *testing.T, client discovery.DiscoveryInterface) (rows []row) {
	t.Helper()
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, listed := range list.APIResources {
			rows = append(rows, newRow(groupVersion, listed))
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(
			cmp.Compare(a.apiResource.Group, b.apiResource.Group),
			version.CompareKubeAwareVersionStrings(b.apiResource.Version, a.apiResource.Version),
			cmp.Compare(a.apiResource.Resource, b.apiResource.Resource),
			cmp.Compare(a.subresource, b.subresource),
		)
	})
	for i := range rows {
		rows[i].label = fmt.Sprint("row-", i)
	}
	return rows
}

func newRow(groupVersion schema.GroupVersion, listed v1.APIResource) row {
	resource, subresource, _ := strings.Cut(listed.Name, "/")
	kind := groupVersion.WithKind(listed.Kind)
	if listed.Version != "" { // a subresource with a kind of another group
		kind = schema.GroupVersionKind{Group: listed.Group, Version: listed.Version, Kind: listed.Kind}
	}
	return row{apiResource: groupVersion.WithResource(resource), subresource: subresource, kind: kind, namespaced: listed.Namespaced, verbs: listed.Verbs}
}
