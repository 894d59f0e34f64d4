package informerhub

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestUncached_ResourcesHaveNoCache(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub, err := New(api.Config(), Options{Uncached: []string{"pods"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	refused, err := hub.Resolver().Resolve(t.Context(), "po")
	if err != nil || !refused.Refused || refused.Cacheable() {
		t.Fatalf("resolved to %v (%v)", refused, err)
	}
	if _, err := hub.Cache(t.Context(), refused); err == nil {
		t.Error("the resource has a cache")
	}
	types, _, err := hub.Resolver().ResourceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range types {
		if of.Refused != (of.Name == "pods") {
			t.Errorf("%s: refused %t", of.Name, of.Refused)
		}
	}
}

func TestUncached_LeasesAreCachedOnlyIfPreloaded(t *testing.T) {
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
		"by default":                     {Options{}, []string{"leases.coordination.k8s.io"}},
		"others are preloaded":           {Options{Preload: []string{"pods"}}, []string{"leases.coordination.k8s.io"}},
		"they are preloaded":             {Options{Preload: []string{"pods", "leases.coordination.k8s.io"}}, nil},
		"they are preloaded as a kind":   {Options{Preload: []string{"Lease"}}, nil},
		"they are preloaded and refused": {Options{Preload: []string{"leases"}, Uncached: []string{"leases.coordination.k8s.io"}}, []string{"leases.coordination.k8s.io"}},
		"others are refused":             {Options{Uncached: []string{"po"}}, []string{"leases.coordination.k8s.io", "pods"}},
	} {
		var got []string
		for resource := range uncachedBy(test.options, lists) {
			got = append(got, resource.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v are excluded, want %v", name, got, test.want)
		}
	}
}
