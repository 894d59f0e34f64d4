package discovery

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
