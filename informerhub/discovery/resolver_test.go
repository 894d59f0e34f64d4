package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var (
	appsResources = &metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
		{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"}, Verbs: fakeapi.ReadVerbs},
		{Name: "deployments/scale", Group: "autoscaling", Version: "v1", Kind: "Scale", Namespaced: true, Verbs: metav1.Verbs{"get"}},
	}}
	newEvents = &metav1.APIResourceList{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{
		{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, Verbs: fakeapi.ReadVerbs},
	}}
	// greedy uses the names of other resources as its short names, and sorts before them.
	greedy = &metav1.APIResourceList{GroupVersion: "a.example.com/v1", APIResources: []metav1.APIResource{
		{Name: "greedies", SingularName: "greedy", Kind: "Greedy", ShortNames: []string{"pods", "deployment", "deployments", "gr"}, Verbs: fakeapi.ReadVerbs},
	}}
	pods        = object.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true}
	nodes       = object.Resource{Version: "v1", Name: "nodes", Kind: "Node", Watchable: true}
	widgets     = object.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true, Watchable: true}
	deployments = object.Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true, Watchable: true}
	events      = object.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true, Watchable: true}
	groupEvents = object.Resource{Group: "events.k8s.io", Version: "v1", Name: "events", Kind: "Event", Namespaced: true, Watchable: true}
	bindings    = object.Resource{Version: "v1", Name: "bindings", Kind: "Binding", Namespaced: true}
	greedies    = object.Resource{Group: "a.example.com", Version: "v1", Name: "greedies", Kind: "Greedy", Watchable: true}
)

var errClosed = errors.New("closed")

// resolverOf returns a resolver that reads an API server's discovery.
func resolverOf(t *testing.T, config *rest.Config, options Options) *Resolver {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	resolver, err := NewResolver(config, client, options)
	must(t, err)
	t.Cleanup(func() {
		resolver.CloseWithError(errClosed)
		client.CloseIdleConnections()
	})
	return resolver
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func everything() []*metav1.APIResourceList {
	return []*metav1.APIResourceList{fakeapi.Core, appsResources, newEvents, greedy, fakeapi.Widgets}
}

// unpaced returns a resolver without a rate limit for discovery.
func unpaced(t *testing.T, api *fakeapi.Server) *Resolver {
	t.Helper()
	resolver := resolverOf(t, api.Config(), Options{})
	resolver.requests.Limiter = flowcontrol.NewFakeAlwaysRateLimiter()
	return resolver
}

func TestResolver_FindsAResourceByEachOfItsNames(t *testing.T) {
	resolver := unpaced(t, fakeapi.New(t, everything()...))
	for name, want := range map[string]object.Resource{
		"pods": pods, "pod": pods, "po": pods, "Pod": pods, "PODS": pods, "Pods": pods, "pods.v1": pods, "pods.v1.": pods,
		"deployments": deployments, "deployment": deployments, "deploy": deployments, "Deployment": deployments,
		"deployments.apps": deployments, "deployments.v1.apps": deployments, "deploy.apps": deployments,
		"Deployment.apps": deployments, "Deployment.v1.apps": deployments,
		"no": nodes, "nodes": nodes,
		"events": events, "ev": events, "Event": events, "events.events.k8s.io": groupEvents, "events.v1.events.k8s.io": groupEvents,
		"ev.events.k8s.io": groupEvents,
		"bindings":         bindings,
		"widgets":          widgets, "widgets.example.com": widgets, "Widget.v1.example.com": widgets,
		"greedies": greedies, "gr": greedies,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := resolver.Resolve(t.Context(), name); err != nil || got != want {
				t.Errorf("found %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestResolver_ReturnsNearMissesOfUnknownNames(t *testing.T) {
	resolver := unpaced(t, fakeapi.New(t, everything()...))
	for name, near := range map[string][]string{
		"podz":                      {"pods"},
		"deploymnt":                 {"deployments.apps"},
		"Wdiget":                    {"widgets.example.com"},
		"pods.v2":                   {"pods"},
		"deployments.v9.apps":       {"deployments.apps"},
		"deployments.example.com":   {"deployments.apps"},
		"pods/status":               nil,
		"deployments/scale":         nil,
		"zzzzzzzzzz":                nil,
		"pods,nodes":                nil,
		"\x00\xff":                  nil,
		"../../secrets":             nil,
		strings.Repeat("pod", 1000): nil,
	} {
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			_, err := resolver.Resolve(t.Context(), name)
			var unknown *UnknownResourceError
			if !errors.As(err, &unknown) {
				t.Fatalf("error %v", err)
			}
			for _, want := range near {
				if !slices.Contains(unknown.NearMisses, want) {
					t.Errorf("the near misses are %v, without %s", unknown.NearMisses, want)
				}
			}
			if len(unknown.NearMisses) > maxNearMisses || len(err.Error()) > 1000 {
				t.Errorf("the error is too long: %v", err)
			}
		})
	}
}

// TestResolver_DoesNotFailOnInvalidNames has names that are hard to parse.
func TestResolver_DoesNotFailOnInvalidNames(t *testing.T) {
	resolver := unpaced(t, fakeapi.New(t, everything()...))
	for _, name := range []string{"", ".", "..", "...", ".v1.apps", "pods.", "pods..", "deployments..apps", "Pod.", "Pod..", " pods", "*", "pods.*", "é"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			resource, err := resolver.Resolve(t.Context(), name)
			var unknown *UnknownResourceError
			if err != nil && !errors.As(err, &unknown) {
				t.Errorf("got %+v, %v", resource, err)
			}
		})
	}
}

func TestUnknownResourceError_ListsNearMisses(t *testing.T) {
	for want, err := range map[string]error{
		`the cluster serves no resource "x"`:                                     &UnknownResourceError{Name: "x"},
		`the cluster serves no resource "podz"; did you mean "pods" or "nodes"?`: &UnknownResourceError{"podz", []string{"pods", "nodes"}},
	} {
		if err.Error() != want {
			t.Errorf("the error is %s", err)
		}
	}
}

func TestResolver_FindsResourcesCreatedLater(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	resolver := resolverOf(t, api.Config(), Options{})
	var unknown *UnknownResourceError
	if _, err := resolver.Resolve(t.Context(), "widgets"); !errors.As(err, &unknown) {
		t.Fatalf("error %v", err)
	}
	api.Serve(fakeapi.Core, fakeapi.Widgets)
	if got, err := resolver.Resolve(t.Context(), "widgets"); err != nil || got != widgets {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestResolver_FindsKindsWithOneRequestAtMost(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	resolver := unpaced(t, api)
	pod, deployment, nothing := pods.GroupVersionKind().GroupKind(), deployments.GroupVersionKind().GroupKind(), schema.GroupKind{Group: "unknown.example.com", Kind: "Pod"}
	resolve := func(kinds ...schema.GroupKind) map[schema.GroupKind]object.Resource {
		t.Helper()
		found, err := resolver.ResolveKinds(t.Context(), kinds)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := resolve(pod, deployment, nothing); len(found) != 1 || found[pod] != pods {
		t.Errorf("found %v", found)
	}
	api.Serve(everything()...)
	if found := resolve(nothing, pod, deployment); len(found) != 2 || found[pod] != pods || found[deployment] != deployments {
		t.Errorf("when all are served, found %v", found)
	}
	before := api.Discoveries()
	resolve(pod, deployment)
	resolve(pod, nothing, schema.GroupKind{Kind: "MadeUp"})
	if asked := api.Discoveries() - before; asked != 1 {
		t.Errorf("discovery was read %d times for known kinds and for kinds that are not served", asked)
	}
}

func TestResolver_KnownNamesNeedNoRequest(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	resolver := resolverOf(t, api.Config(), Options{})
	for range 100 {
		if _, err := resolver.Resolve(t.Context(), "pods"); err != nil {
			t.Fatal(err)
		}
	}
	if asked := api.Discoveries(); asked != 1 {
		t.Errorf("discovery was read %d times", asked)
	}
}

func TestResolver_UnknownNamesShareRequests(t *testing.T) {
	const callers = 100
	api := fakeapi.New(t, fakeapi.Core)
	resolver := resolverOf(t, api.Config(), Options{})
	resume := api.Block()
	answered := make(chan error, callers)
	for i := range callers {
		go func() {
			_, err := resolver.Resolve(t.Context(), fmt.Sprint("nothing-", i))
			answered <- err
		}()
	}
	resume()
	for range callers {
		var unknown *UnknownResourceError
		if err := <-answered; !errors.As(err, &unknown) {
			t.Errorf("error %v", err)
		}
	}
	// Each caller waits for a request that begins after its call: at most the one in flight and the
	// next one. Some may come so late that they need another one.
	if asked := api.Discoveries(); asked > callers/4 {
		t.Errorf("discovery was read %d times for %d callers", asked, callers)
	}
}

func TestResolver_UnreachableAPIServerIsUnavailable(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	resolver := resolverOf(t, api.Config(), Options{})
	api.Close()
	var unavailable *UnavailableError
	if _, err := resolver.Resolve(t.Context(), "pods"); !errors.As(err, &unavailable) {
		t.Errorf("error %v", err)
	}
	if text := unavailable.Error(); !strings.Contains(text, unavailable.Host) || errors.Unwrap(unavailable) == nil {
		t.Errorf("the error is %s", text)
	}
}

// A starting API server serves discovery before it knows all groups of CRDs.
func TestResolver_MissingResourcesAreUnavailableDuringStartup(t *testing.T) {
	const starting = "[+]ping ok\n[-]poststarthook/apiservice-discovery-controller failed: reason withheld\nreadyz check failed\n"
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	resolver := unpaced(t, api)
	if _, err := resolver.Resolve(t.Context(), "widgets"); err != nil {
		t.Fatal(err)
	}
	api.Serve(fakeapi.Core)
	api.SetUnready(starting)
	var unavailable *UnavailableError
	for question, ask := range map[string]func() error{
		"an unknown name":      func() error { _, err := resolver.Resolve(t.Context(), "gadgets"); return err },
		"a fresh result":       func() error { _, err := resolver.ResolveFresh(t.Context(), "widgets"); return err },
		"whether it is served": func() error { _, err := resolver.Serves(t.Context(), widgets); return err },
	} {
		if err := ask(); !errors.As(err, &unavailable) {
			t.Errorf("%s: %v", question, err)
		}
	}
	if got, err := resolver.Resolve(t.Context(), "widgets"); err != nil || got != widgets {
		t.Errorf("widgets are %v, %v", got, err)
	}
	api.SetUnready("apiserver is starting") // without the list of its checks
	if served, err := resolver.Serves(t.Context(), widgets); !errors.As(err, &unavailable) {
		t.Errorf("widgets are served: %v, %v", served, err)
	}
	// Without etcd the API server is not ready either, but its discovery is complete.
	api.SetUnready("[-]etcd-readiness failed: reason withheld\n[+]poststarthook/apiservice-discovery-controller ok\nreadyz check failed\n")
	if served, err := resolver.Serves(t.Context(), widgets); err != nil || served {
		t.Errorf("widgets are served: %v, %v", served, err)
	}
}

// TestResolver_DiscoveryTimesOut fakes time: there is never a response.
func TestResolver_DiscoveryTimesOut(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		silent := fakeapi.TransportFunc(func(r *http.Request) (*http.Response, error) {
			start := time.Now()
			<-r.Context().Done()
			if waited := time.Since(start); waited != requestTimeout {
				t.Errorf("failed after %v", waited)
			}
			return nil, r.Context().Err()
		})
		resolver := resolverOf(t, &rest.Config{Host: "http://api.example", Transport: silent}, Options{})
		var unavailable *UnavailableError
		if _, err := resolver.Resolve(t.Context(), "pods"); !errors.As(err, &unavailable) {
			t.Errorf("error %v", err)
		}
	})
}

// TestResolver_FailsAfterClose resolves while the resolver closes, for the race detector, and
// afterwards.
func TestResolver_FailsAfterClose(t *testing.T) {
	resolver := resolverOf(t, fakeapi.New(t, fakeapi.Core).Config(), Options{})
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() { _, _ = resolver.Resolve(t.Context(), fmt.Sprint("nothing-", i)) })
	}
	resolver.CloseWithError(errClosed)
	asking.Wait()
	if _, err := resolver.Resolve(t.Context(), "nothing"); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func TestResolver_CachedSpellingsAreBounded(t *testing.T) {
	resolver := unpaced(t, fakeapi.New(t, fakeapi.Core))
	if _, err := resolver.Resolve(t.Context(), "pods"); err != nil {
		t.Fatal(err)
	}
	known := resolver.requests.Last()
	for i := range maxResolved + 10 {
		known.resolved[fmt.Sprint(i)] = pods
	}
	before := len(known.resolved)
	if _, err := resolver.Resolve(t.Context(), "pOdS"); err != nil {
		t.Fatal(err)
	}
	if len(known.resolved) > before {
		t.Errorf("cached %d names", len(known.resolved))
	}
}

// TestResolver_FailedGroupIsUnavailable has discovery fail for one group, and no longer
// find another one.
func TestResolver_FailedGroupIsUnavailable(t *testing.T) {
	catalogue := &Snapshot{failed: map[schema.GroupVersion]error{
		{Group: "away.example.com", Version: "v1"}:  apierrors.NewServiceUnavailable("x"),
		{Group: "gone.example.com", Version: "v1"}:  apierrors.NewNotFound(schema.GroupResource{}, ""),
		{Group: "stale.example.com", Version: "v1"}: discovery.StaleGroupVersionError{},
		{Group: "empty.example.com", Version: "v1"}: errors.New("received empty response"),
		{Version: "v1"}: apierrors.NewServiceUnavailable("x"),
	}}
	for name, want := range map[string]bool{
		"things.away.example.com": true, "things.v1.away.example.com": true, "Thing.v1.away.example.com": true,
		"things.stale.example.com": true, "things.empty.example.com": false, "things.gone.example.com": false, "things.far-away.example.com": false, "things": false, "podz": false,
	} {
		err := catalogue.unavailable(name)
		var unavailable *GroupUnavailableError
		if got := errors.As(err, &unavailable); got != want {
			t.Errorf("%s: unavailable is %t, want %t: %v", name, got, want, err)
		}
	}
}

// A group that has responded before does not respond now: names without the group match it too.
func TestResolver_LostGroupIsUnavailableByEachName(t *testing.T) {
	group := schema.GroupVersion{Group: "example.com", Version: "v1"}
	gone := schema.GroupVersion{Group: "gone.example.com", Version: "v1"}
	goneResources := &metav1.APIResourceList{GroupVersion: gone.String(), APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}}
	var last lastLists
	if away := last.update([]*metav1.APIResourceList{fakeapi.Core, fakeapi.Widgets, goneResources}, nil); len(away) > 0 {
		t.Errorf("groups are unavailable although all have responded: %v", away)
	}
	for range 2 { // it is recorded for as long as the failure lasts
		away := last.update([]*metav1.APIResourceList{fakeapi.Core}, map[schema.GroupVersion]error{group: discovery.StaleGroupVersionError{}, gone: apierrors.NewNotFound(schema.GroupResource{}, "")})
		catalogue := &Snapshot{lastKnown: away}
		for name, want := range map[string]bool{"widgets": true, "Widget": true, "widget.example.com": true, "widgets.v1.example.com": true, "pods": false, "podz": false, "things": false} {
			var unavailable *GroupUnavailableError
			if got := errors.As(catalogue.unavailable(name), &unavailable); got != want || got && unavailable.Group != group.Group {
				t.Errorf("%s: %v", name, unavailable)
			}
		}
	}
	if away := last.update([]*metav1.APIResourceList{fakeapi.Core}, nil); len(away) > 0 || len(last) != 1 {
		t.Errorf("a removed group is still recorded: %v", last)
	}
}

// statusOf returns a Status as an API server has sent it.
func statusOf(t *testing.T, text string) *metav1.Status {
	t.Helper()
	status := &metav1.Status{}
	must(t, json.Unmarshal([]byte(text), status))
	return status
}

func TestContradicts_OnlyErrorsOfTheWholeResource(t *testing.T) {
	unknownPath := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", widgets.GroupResource(), "a", "404 page not found", 0, true)
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                  {nil, false},
		"a path that is not served": {fmt.Errorf("x: %w", unknownPath), true},
		// From Kubernetes 1.38 on, and within a group that is served.
		"a path that is not served, with a Status": {apierrors.FromObject(statusOf(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
			"message":"the server could not find the requested resource","reason":"NotFound","code":404}`)), true},
		"a path that is not served in a group": {apierrors.FromObject(statusOf(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
			"message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`)), true},
		"an object that is missing": {apierrors.NewNotFound(widgets.GroupResource(), "a"), false},
		"another plain response":    {apierrors.NewGenericServerResponse(http.StatusBadGateway, "GET", widgets.GroupResource(), "a", "bad gateway", 0, true), false},
		"a cache that has ended":    {&ResourceGoneError{widgets}, true},
		"a kind without a schema":   {&NoSchemaError{widgets}, true},
		"a name that is not served": {&UnknownResourceError{Name: "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Contradicts(test.err); got != test.want {
				t.Errorf("Contradicts returned %v", got)
			}
		})
	}
}
