package discovery

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestUncached_NameExcludesEveryMatchingResource(t *testing.T) {
	lists := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "events", SingularName: "event", Kind: "Event", ShortNames: []string{"ev"}},
			{Name: "pods", SingularName: "pod", Kind: "Pod", ShortNames: []string{"po"}},
			{Name: "pods/status", Kind: "Pod"},
		}},
		{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "events", SingularName: "event", Kind: "Event", ShortNames: []string{"ev"}}}},
		{GroupVersion: "a.example.com/v1", APIResources: []metav1.APIResource{{Name: "widgets", SingularName: "widget", Kind: "Widget"}}},
		{GroupVersion: "a.example.com/v2", APIResources: []metav1.APIResource{{Name: "widgets", SingularName: "widget", Kind: "Widget"}}},
	}
	for name, want := range map[string][]string{
		"pods": {"pods"}, "Pod": {"pods"}, "po": {"pods"}, "PODS.v1": {"pods"},
		"pods.apps":                nil,
		"pods/status":              nil,
		"none":                     nil,
		"events":                   {"events", "events.events.k8s.io"},
		"ev.events.k8s.io":         {"events.events.k8s.io"},
		"events.v1":                {"events", "events.events.k8s.io"}, // ambiguous, so both
		"widgets":                  {"widgets.a.example.com"},
		"widgets.v2.a.example.com": {"widgets.a.example.com"},
	} {
		refused := matchingResources(lists, []string{"", name})
		if len(refused) != len(want) {
			t.Errorf("%q excludes %v, want %v", name, refused, want)
		}
		for resource := range refused {
			found := false
			for _, one := range want {
				found = found || one == resource.String()
			}
			if !found {
				t.Errorf("%q excludes %s", name, resource)
			}
		}
	}
}

func TestUncached_LeasesAreCachedOnlyIfNamed(t *testing.T) {
	lists := []*metav1.APIResourceList{
		fakeapi.Core,
		{GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "leases", SingularName: "lease", Kind: "Lease"}, {Name: "leasecandidates", SingularName: "leasecandidate", Kind: "LeaseCandidate"},
		}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "leases", SingularName: "lease", Kind: "Lease"}}},
	}
	for name, test := range map[string]struct {
		options Options
		want    []string
	}{
		"by default":                 {Options{}, []string{"leases.coordination.k8s.io"}},
		"others are named":           {Options{Cached: []string{"pods"}}, []string{"leases.coordination.k8s.io"}},
		"they are named":             {Options{Cached: []string{"pods", "leases.coordination.k8s.io"}}, nil},
		"they are named as a kind":   {Options{Cached: []string{"Lease"}}, nil},
		"they are named and refused": {Options{Cached: []string{"leases"}, Uncached: []string{"leases.coordination.k8s.io"}}, []string{"leases.coordination.k8s.io"}},
		"others are refused":         {Options{Uncached: []string{"po"}}, []string{"leases.coordination.k8s.io", "pods"}},
	} {
		var got []string
		named := func(names ...string) map[schema.GroupResource]bool { return matchingResources(lists, names) }
		for resource := range uncachedBy(test.options, named) {
			got = append(got, resource.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v are excluded, want %v", name, got, test.want)
		}
	}
}

// TestUncached_NamesWhatCallersName excludes a resource by each name by which callers find it.
func TestUncached_NamesWhatCallersName(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	for _, name := range []string{"pods", "PODS", "Pod", "po", "pods.v1", "widgets", "Widget", "widget.example.com", "widgets.v1.example.com", "widgets.example"} {
		resolver := resolverOf(t, api.Config(), Options{Uncached: []string{name}})
		if resource, err := resolver.Resolve(t.Context(), name); err != nil || resource.Cacheable() {
			t.Errorf("%q does not exclude what it names, %v: %v", name, resource, err)
		}
	}
}
