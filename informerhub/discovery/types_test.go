package discovery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func typeNames(t *testing.T, resolver *Resolver) (names []string) {
	t.Helper()
	types, failed, err := resolver.Types(t.Context())
	must(t, err)
	if len(failed) > 0 {
		t.Errorf("the failed groups are %v", failed)
	}
	for _, of := range types {
		names = append(names, of.GroupResource().String())
	}
	return names
}

func TestTypes_AreSortedByGroupAndName(t *testing.T) {
	resolver := resolverOf(t, fakeapi.New(t, everything()...).Config(), Options{})
	want := []string{
		"bindings", "events", "nodes", "pods", "greedies.a.example.com", "deployments.apps", "events.events.k8s.io", "widgets.example.com",
	}
	if diff := cmp.Diff(want, typeNames(t, resolver)); diff != "" {
		t.Error(diff)
	}
}

func TestTypes_HaveThePreferredVersion(t *testing.T) {
	version := func(name string) metav1.GroupVersionForDiscovery {
		return metav1.GroupVersionForDiscovery{GroupVersion: "example.com/" + name, Version: name}
	}
	resource := func(name string, short ...string) metav1.APIResource {
		return metav1.APIResource{
			Name: name, SingularName: name + "-one", Kind: "Kind", Namespaced: true, ShortNames: short, Categories: []string{"all"}, Verbs: fakeapi.ReadVerbs,
		}
	}
	group := &restmapper.APIGroupResources{
		Group: metav1.APIGroup{
			Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{version("v3"), version("v2"), version("v1")}, PreferredVersion: version("v2"),
		},
		VersionedResources: map[string][]metav1.APIResource{
			"v3": {resource("both", "three"), {Name: "both/three"}, resource("newest")},
			"v2": {{Name: "both/status"}, {Name: "both/scale"}, {Name: "bother/log"}, resource("both", "two")},
			"v1": {resource("both", "one"), {Name: "oldest/status"}, resource("oldest")},
		},
	}
	want := func(name, version string, served ...string) Type {
		return Type{
			Resource: object.Resource{Group: "example.com", Version: version, Name: name, Kind: "Kind", Namespaced: true, Watchable: true},
			Singular: name + "-one", Categories: []string{"all"}, Verbs: fakeapi.ReadVerbs, Versions: served,
		}
	}
	both, oldest := want("both", "v2", "v2", "v3", "v1"), want("oldest", "v1", "v1")
	both.ShortNames, both.Subresources, oldest.Subresources = []string{"two"}, []string{"scale", "status"}, []string{"status"}
	types := (&Snapshot{groups: []*restmapper.APIGroupResources{group}, aggregated: aggregation{groups: map[string]bool{}}}).types()
	if diff := cmp.Diff([]Type{both, want("newest", "v3", "v3"), oldest}, types); diff != "" {
		t.Error(diff)
	}
}

func TestTypes_ChangesAreSeenWithinASecond(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	faketime.Test(t, func(t *testing.T) {
		resolver := resolverOf(t, api.DirectConfig(), Options{})
		core := []string{"bindings", "events", "nodes", "pods"}
		for _, step := range []struct {
			served []*metav1.APIResourceList
			want   []string
		}{
			{[]*metav1.APIResourceList{fakeapi.Core}, core},
			{[]*metav1.APIResourceList{fakeapi.Core, fakeapi.Widgets}, append(core[:4:4], "widgets.example.com")},
			{[]*metav1.APIResourceList{fakeapi.Core}, core},
		} {
			api.Serve(step.served...)
			time.Sleep(time.Second)
			if diff := cmp.Diff(step.want, typeNames(t, resolver)); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestTypes_CallersShareOneRequestASecond(t *testing.T) {
	const callers, seconds = 100, 30
	api := fakeapi.New(t, everything()...)
	faketime.Test(t, func(t *testing.T) {
		resolver := resolverOf(t, api.DirectConfig(), Options{})
		for range 10 * seconds {
			var asking sync.WaitGroup
			for range callers {
				asking.Go(func() {
					if types, _, err := resolver.Types(t.Context()); len(types) != 8 || err != nil {
						t.Errorf("got %v, %v", types, err)
					}
				})
			}
			asking.Wait()
			time.Sleep(time.Second / 10)
		}
	})
	if asked := api.Discoveries(); asked != seconds {
		t.Errorf("discovery was read %d times in %d seconds", asked, seconds)
	}
}

func TestTypes_FailedGroupHidesNoOther(t *testing.T) {
	api := fakeapi.New(t, everything()...)
	resolver := resolverOf(t, &rest.Config{Host: "http://api.example", Transport: fakeapi.TransportFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/apis/example.com/v1" {
			return api.RoundTrip(r)
		}
		recorder := httptest.NewRecorder()
		recorder.WriteHeader(http.StatusServiceUnavailable)
		return recorder.Result(), nil
	})}, Options{})
	types, failed, err := resolver.Types(t.Context())
	if err != nil || len(types) != 7 {
		t.Errorf("got %v, %v", types, err)
	}
	if len(failed) != 1 || failed[0].GroupVersion != widgets.GroupVersion() || !apierrors.IsServiceUnavailable(failed[0].Err) {
		t.Errorf("the failed groups are %v", failed)
	}
}

// aggregated serves discovery as current API servers do, in one document, from which client-go
// builds lists in no particular order.
func aggregated(groups ...apidiscoveryv2.APIGroupDiscovery) fakeapi.TransportFunc {
	return func(r *http.Request) (*http.Response, error) {
		list := apidiscoveryv2.APIGroupDiscoveryList{}
		if r.URL.Path == "/apis" {
			list.Items = groups
		}
		recorder := httptest.NewRecorder()
		recorder.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		err := json.NewEncoder(recorder).Encode(list)
		return recorder.Result(), err
	}
}

// withThings returns a group with a resource whose short name other groups have, too.
func withThings(name string, freshness apidiscoveryv2.DiscoveryFreshness) apidiscoveryv2.APIGroupDiscovery {
	return apidiscoveryv2.APIGroupDiscovery{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Versions: []apidiscoveryv2.APIVersionDiscovery{{
			Version: "v1", Freshness: freshness,
			Resources: []apidiscoveryv2.APIResourceDiscovery{{
				Resource: "things", SingularResource: "thing", ShortNames: []string{"th"}, Verbs: fakeapi.ReadVerbs,
				ResponseKind: &metav1.GroupVersionKind{Group: name, Version: "v1", Kind: "Thing"}, Scope: apidiscoveryv2.ScopeCluster,
			}},
		}},
	}
}

func TestResolver_SharedShortNameMeansTheFirstGroup(t *testing.T) {
	current := apidiscoveryv2.DiscoveryFreshnessCurrent
	for range 20 { // for any order of a map
		resolver := resolverOf(t, &rest.Config{Host: "http://api.example", Transport: aggregated(
			withThings("c.example.com", current), withThings("a.example.com", current), withThings("b.example.com", current),
		)}, Options{})
		if found, err := resolver.Resolve(t.Context(), "th"); err != nil || found.Group != "c.example.com" {
			t.Fatalf("found %v, %v", found, err)
		}
	}
}

func TestTypes_StaleGroupIsReportedAsFailed(t *testing.T) {
	resolver := resolverOf(t, &rest.Config{Host: "http://api.example", Transport: aggregated(
		withThings("a.example.com", apidiscoveryv2.DiscoveryFreshnessCurrent), withThings("b.example.com", apidiscoveryv2.DiscoveryFreshnessStale),
	)}, Options{})
	types, failed, err := resolver.Types(t.Context())
	if err != nil || len(types) != 1 || types[0].Group != "a.example.com" {
		t.Errorf("got %v, %v", types, err)
	}
	if len(failed) != 1 || failed[0].Group != "b.example.com" || failed[0].Version != "v1" {
		t.Errorf("the failed groups are %v", failed)
	}
}
