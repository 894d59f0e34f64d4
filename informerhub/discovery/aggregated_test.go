package discovery

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

var deploymentResources = &metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
	{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, Verbs: fakeapi.ReadVerbs},
}}

// The server of an aggregated API may return different objects to each user, so no cache may have
// the objects that it returns to the service.
func TestResolve_AggregatedResourcesAreNotCached(t *testing.T) {
	for name, test := range map[string]struct {
		services map[string]string // nil: the API server aggregates nothing; empty: no permission to read them
		defined  bool              // by a CRD that can be read
		options  Options
		want     bool // widgets are cached
	}{
		"an API server that aggregates nothing":    {nil, false, Options{}, true},
		"a group of a CRD":                         {map[string]string{"v1.example.com": ""}, false, Options{}, true},
		"a group of an aggregated API":             {map[string]string{"v1.example.com": "widgets"}, true, Options{}, false},
		"another version of the group":             {map[string]string{"v1.example.com": "", "v2.example.com": "widgets"}, true, Options{}, false},
		"another group":                            {map[string]string{"v1.example.com": "", "v1.projects.example.com": "projects"}, false, Options{}, true},
		"a group that the operator trusts":         {map[string]string{"v1.example.com": "widgets"}, false, Options{CacheAggregated: []string{"example.com"}}, true},
		"services that may not be read":            {map[string]string{}, false, Options{}, false},
		"the same, and a CRD":                      {map[string]string{}, true, Options{}, true},
		"the same, and a group that is trusted":    {map[string]string{}, false, Options{CacheAggregated: []string{"example.com"}}, true},
		"the same, and another group that is":      {map[string]string{}, false, Options{CacheAggregated: []string{"other.example.com"}}, false},
		"a trusted group that is refused by name":  {map[string]string{"v1.example.com": "widgets"}, false, Options{CacheAggregated: []string{"example.com"}, Uncached: []string{"widgets"}}, false},
		"an aggregated API that is trusted partly": {map[string]string{"v1.example.com": "widgets"}, false, Options{CacheAggregated: []string{"v1.example.com"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core, deploymentResources, fakeapi.Widgets)
			if test.services != nil {
				api.Handle("apiservices", fakeapi.APIServices(test.services))
			}
			if test.defined {
				api.Handle("customresourcedefinitions", listedDefinitions("widgets.example.com"))
			}
			resolver := resolverOf(t, api.Config(), test.options)
			for resource, want := range map[string]bool{"widgets": test.want, "pods": true, "deployments.apps": true} {
				found, err := resolver.Resolve(t.Context(), resource)
				must(t, err)
				if found.Cacheable() != want {
					t.Errorf("%s: cached %t, want %t", resource, found.Cacheable(), want)
				}
			}
		})
	}
}

// listedDefinitions returns a handler of lists of CRDs.
func listedDefinitions(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fakeapi.Respond(w, map[string]any{"items": []any{map[string]any{"metadata": map[string]any{"name": name}}}})
	})
}

// The server of an aggregated API responds, does not respond, and is removed.
func TestResolve_ACachedGroupIsKnownWhileItIsAway(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		known   bool
	}{
		"a group that is cached":         {Options{CacheAggregated: []string{"example.com"}}, true},
		"another group that is cached":   {Options{CacheAggregated: []string{"other.example.com"}}, false},
		"a group that is not cached":     {Options{}, false},
		"a version instead of the group": {Options{CacheAggregated: []string{"v1.example.com"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
			services := map[string]string{"v1.example.com": "widgets"}
			api.Handle("apiservices", fakeapi.APIServices(services))
			config, isAway := losing(api.Config(), "/apis/example.com/v1")
			resolver := resolverOf(t, config, test.options)
			before, err := resolver.Resolve(t.Context(), "widgets")
			must(t, err)

			isAway.Store(true)
			for range 2 {
				must(t, resolver.Refresh(t.Context()))
				wantKnown(t, resolver, before, test.known)
			}

			api.Serve(fakeapi.Core)
			must(t, resolver.Refresh(t.Context()))
			var unknown *UnknownResourceError
			if _, err := resolver.Resolve(t.Context(), "widgets"); !errors.As(err, &unknown) {
				t.Errorf("a group that was removed: %v", err)
			}
		})
	}
}

// formats returns discovery as an API server sends it that has only these formats: the apidiscovery.k8s.io version, or none. Other requests go to a fake API
// server. An API server sends the first format that a client accepts, and otherwise 406.
func formats(t *testing.T, version string, others *fakeapi.Server) *rest.Config {
	t.Helper()
	recorded := make(map[string][]byte)
	for _, root := range []string{"api", "apis"} {
		text, err := os.ReadFile("testdata/aggregated_" + root + ".json")
		must(t, err)
		recorded["/"+root] = text
	}
	return &rest.Config{Host: "http://api.example", Transport: fakeapi.TransportFunc(func(r *http.Request) (*http.Response, error) {
		text, ok := recorded[r.URL.Path]
		if !ok {
			return others.RoundTrip(r)
		}
		recorder := httptest.NewRecorder()
		for accepted := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
			switch parameters := strings.TrimSpace(accepted); {
			case version != "" && strings.Contains(parameters, "as=APIGroupDiscoveryList") && strings.Contains(parameters, "v="+version+";"):
				recorder.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList")
				_, _ = recorder.Write(text)
				return recorder.Result(), nil
			case parameters == "application/json":
				return others.RoundTrip(r)
			}
		}
		recorder.WriteHeader(http.StatusNotAcceptable)
		return recorder.Result(), nil
	})}
}

// TestDiscovery_NeedsOneFormat has the responses of API servers with apidiscovery.k8s.io/v2 alone, from Kubernetes 1.38 on, and without aggregated
// discovery.
func TestDiscovery_NeedsOneFormat(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		lists   int // requests for single versions of groups
	}{
		"v2 alone":   {"v2", 0},
		"legacy":     {"", 3},
		"an old one": {"v2beta1", 3},
	} {
		t.Run(name, func(t *testing.T) {
			others := fakeapi.New(t, fakeapi.Core, deploymentResources, fakeapi.Widgets)
			others.Handle("apiservices", fakeapi.APIServices(map[string]string{"v1.example.com": ""}))
			resolver := resolverOf(t, formats(t, test.version, others), Options{})
			for name, want := range map[string]object.Resource{"po": pods, "nodes": nodes, "deployment": deployments, "widgets.example.com": widgets} {
				if found, err := resolver.Resolve(t.Context(), name); err != nil || found != want {
					t.Errorf("%s is %+v, %v", name, found, err)
				}
			}
			lists := 0
			for path, count := range others.Requests() {
				if path != "/api" && path != "/apis" {
					lists += count
				}
			}
			if lists != test.lists {
				t.Errorf("%d lists of single versions were requested, want %d", lists, test.lists)
			}
		})
	}
}

// A group whose server is away is stale in the aggregated format.
func TestDiscovery_KnowsStaleGroups(t *testing.T) {
	resolver := resolverOf(t, formats(t, "v2", fakeapi.New(t)), Options{})
	_, failed, err := resolver.Types(t.Context())
	must(t, err)
	if len(failed) != 1 || failed[0].Group != "away.example.com" {
		t.Errorf("failed %v", failed)
	}
}

func TestWithVersions_AddsVersionsThatAreAway(t *testing.T) {
	v1 := metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"}
	v2 := metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v2", Version: "v2"}
	for name, test := range map[string]struct {
		versions, want []metav1.GroupVersionForDiscovery
		preferred      metav1.GroupVersionForDiscovery
	}{
		"all versions are away":     {nil, []metav1.GroupVersionForDiscovery{v1}, v1},
		"another version is served": {[]metav1.GroupVersionForDiscovery{v2}, []metav1.GroupVersionForDiscovery{v2, v1}, v2},
		"the version is named":      {[]metav1.GroupVersionForDiscovery{v1, v2}, []metav1.GroupVersionForDiscovery{v1, v2}, v1},
	} {
		t.Run(name, func(t *testing.T) {
			group := &metav1.APIGroup{Name: "example.com", Versions: test.versions}
			if len(test.versions) > 0 {
				group.PreferredVersion = test.versions[0]
			}
			got := withVersions([]*metav1.APIGroup{{Name: "apps"}, group}, []*metav1.APIResourceList{{GroupVersion: "example.com/v1"}})
			if !slices.Equal(got[1].Versions, test.want) || got[1].PreferredVersion != test.preferred {
				t.Errorf("the versions are %v, %v is preferred", got[1].Versions, got[1].PreferredVersion)
			}
			if len(group.Versions) != len(test.versions) {
				t.Error("the group of discovery was changed")
			}
		})
	}
}

// losing returns a configuration whose requests for a path fail while a flag is set.
func losing(config *rest.Config, path string) (*rest.Config, *atomic.Bool) {
	isAway := new(atomic.Bool)
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return fakeapi.TransportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && r.URL.Path == path && isAway.Load() {
				response.StatusCode = http.StatusServiceUnavailable
			}
			return response, err
		})
	})
	return config, isAway
}

// wantKnown fails the test unless widgets, whose server is away, are resolved as before by each name
// if they are known, and are unavailable otherwise. They are listed as failed in either case.
func wantKnown(t *testing.T, resolver *Resolver, before object.Resource, known bool) {
	t.Helper()
	for _, name := range []string{"widgets", "Widget", "widgets.example.com", "widgets.v1.example.com"} {
		found, err := resolver.Resolve(t.Context(), name)
		var unavailable *GroupUnavailableError
		if known && (err != nil || found != before) || !known && !errors.As(err, &unavailable) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	if served, err := resolver.Serves(t.Context(), before); err == nil {
		t.Errorf("served %t, although the group does not respond", served)
	}
	types, failed, err := resolver.Types(t.Context())
	must(t, err)
	if len(failed) != 1 || slices.ContainsFunc(types, func(each Type) bool { return each.Name == "widgets" }) {
		t.Errorf("%d types, failed %v", len(types), failed)
	}
}
