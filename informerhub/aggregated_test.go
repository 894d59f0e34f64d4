package informerhub

import (
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

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
			hub, err := New(api.Config(), test.options)
			must(t, err)
			t.Cleanup(hub.Close)
			for resource, want := range map[string]bool{"widgets": test.want, "pods": true, "deployments.apps": true} {
				found, err := hub.Resolver().Resolve(t.Context(), resource)
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

// The cache of a group that becomes part of an aggregated API is evicted at once.
func TestHub_EndsCacheWhenItsGroupIsAggregated(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	metadata := make(fakeapi.Calls)
	aggregate := func(services map[string]string) {
		lists := fakeapi.APIServices(services)
		api.Handle("apiservices", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fakeapi.WantsMetadata(r) {
				metadata.ServeHTTP(w, r)
				return
			}
			lists.ServeHTTP(w, r)
		}))
	}
	aggregate(map[string]string{"v1.example.com": ""})
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, widgets)
	services := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []metav1.PartialObjectMetadata{*serviceOf("v1.example.com", "3")}}
	services.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	metadata.Next(t, "list").Respond(services)
	watched := metadata.Next(t, "watch").Open()
	snapshotOfWidgets(t, api, "10", "red")
	got := <-answered
	must(t, got.err)
	w := longWatch(t, got.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")

	aggregate(map[string]string{"v1.example.com": "widgets"})
	watched.Send(t, watch.Modified, serviceOf("v1.example.com", "11"))
	var gone *ResourceGoneError
	if batch, err := w.Next(t.Context()); !errors.As(err, &gone) {
		t.Fatalf("the watch continues with %v (%v)", describeAll(batch.Events, describeEvent), err)
	}
	found, err := hub.Resolver().Resolve(t.Context(), "widgets")
	must(t, err)
	if found.Cacheable() {
		t.Error("the resource would be cached again")
	}
	if _, err := hub.Cache(t.Context(), widgets); !errors.As(err, &gone) {
		t.Errorf("a new cache was started: %v", err)
	}
}

func serviceOf(name, version string) *metav1.PartialObjectMetadata {
	service := &metav1.PartialObjectMetadata{}
	service.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	service.Name, service.UID, service.ResourceVersion = name, types.UID(name), version
	return service
}
