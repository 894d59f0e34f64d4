package informerhub

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// widgetsAs returns discovery's description of widgets that a CRD defines differently.
func widgetsAs(kind string, namespaced bool) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		{Name: "widgets", SingularName: "widget", Kind: kind, Namespaced: namespaced, Verbs: fakeapi.ReadVerbs},
	}}
}

func TestHub_StartsNoCacheWithAnotherScopeOrKind(t *testing.T) {
	for name, now := range map[string]*metav1.APIResourceList{
		"another scope": widgetsAs("Widget", false),
		"another kind":  widgetsAs("Gizmo", true),
		"no version v1": {GroupVersion: "example.com/v2", APIResources: fakeapi.Widgets.APIResources},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core, now)
			var gone *discovery.ResourceGoneError
			if _, err := hubOf(t, api.Config()).Cache(t.Context(), widgets); !errors.As(err, &gone) || gone.Resource != widgets {
				t.Errorf("error %v", err)
			}
		})
	}
}

// definedWidgets returns a hub with a synced cache of widgets, and the watch of their definition,
// which has the UID "u" and the generation 1.
func definedWidgets(t *testing.T) (*fakeapi.Server, *scopeWatcher, *fakeapi.Call) {
	t.Helper()
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	calls := make(fakeapi.Calls)
	api.Handle("customresourcedefinitions", calls)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, widgets)
	definitions := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []metav1.PartialObjectMetadata{*definedAs("u", 1, "3")}}
	definitions.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	calls.Next(t, "list").Respond(definitions)
	watched := calls.Next(t, "watch").Open()
	snapshotOfWidgets(t, api, "10", "red")
	got := <-answered
	must(t, got.err)
	w := longWatch(t, got.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	return api, w, watched
}

func definedAs(uid string, generation int64, version string) *metav1.PartialObjectMetadata {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	definition.Name, definition.UID = "widgets.example.com", types.UID(uid)
	definition.Generation, definition.ResourceVersion = generation, version
	return definition
}

// snapshotOfWidgets responds to the next watch of widgets with the widget a, of a color.
func snapshotOfWidgets(t *testing.T, api *fakeapi.Server, version, color string) *fakeapi.Call {
	t.Helper()
	a := widget("a", "3", nil)
	a.Object["spec"] = map[string]any{"color": color}
	return api.Next(t, "watch-list").Open().Send(t, watch.Added, a).
		Send(t, watch.Bookmark, widget("", version, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
}

func TestDefinitions_ChangeRelistsTheCache(t *testing.T) {
	api, w, watched := definedWidgets(t)
	watched.Send(t, watch.Modified, definedAs("u", 1, "11")) // its status
	watched.Send(t, watch.Modified, definedAs("u", 2, "12"))
	snapshotOfWidgets(t, api, "20", "green")
	expect(t, w, "MODIFIED default/a@3 at 20")
	snapshotOfWidgets(t, api, "30", "green") // a second relist, for an API server that notices late
}

func TestDefinitions_RecreationEndsTheCache(t *testing.T) {
	_, w, watched := definedWidgets(t)
	watched.Send(t, watch.Modified, definedAs("other", 1, "12"))
	var gone *discovery.ResourceGoneError
	if _, err := w.Next(t.Context()); !errors.As(err, &gone) || gone.Resource != widgets {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestDefinitions_ChangedKindEndsTheCache(t *testing.T) {
	api, w, watched := definedWidgets(t)
	api.Serve(fakeapi.Core, widgetsAs("Gizmo", true))
	watched.Send(t, watch.Modified, definedAs("u", 2, "12"))
	var gone *discovery.ResourceGoneError
	if _, err := w.Next(t.Context()); !errors.As(err, &gone) || gone.Resource != widgets {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestDefinitions_RelistIsNotOlderThanTheCache relists at an API server that cannot stream a list.
func TestDefinitions_RelistIsNotOlderThanTheCache(t *testing.T) {
	api, _, watched := definedWidgets(t)
	watched.Send(t, watch.Modified, definedAs("u", 2, "12"))
	api.Next(t, "watch-list").Refuse(apierrors.NewBadRequest("no").ErrStatus)
	asked := api.Next(t, "list").Query()
	if asked.Get("resourceVersion") != "10" || asked.Get("resourceVersionMatch") != "NotOlderThan" || asked.Has("limit") {
		t.Errorf("listed with %v", asked)
	}
}

// TestDefinitions_ChangedHashRelistsWithoutPermission compares the hashes itself, instead of the
// session that waits for half a minute.
func TestDefinitions_ChangedHashRelistsWithoutPermission(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, widgets)
	snapshotOfWidgets(t, api, "10", "red")
	got := <-answered
	must(t, got.err)
	w := longWatch(t, got.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")

	session := newDefinitionsSession(hub.definitions, func() {})
	poll := func(hash string) {
		api.Publish(map[string]fakeapi.Document{"apis/example.com/v1": {Query: "?hash=" + hash, Text: "{}"}})
		session.poll(t.Context())
	}
	poll("1")
	poll("1")
	poll("2")
	snapshotOfWidgets(t, api, "20", "green")
	expect(t, w, "MODIFIED default/a@3 at 20")

	api.Serve(fakeapi.Core, widgetsAs("Widget", false))
	poll("2")
	var gone *discovery.ResourceGoneError
	if _, err := w.Next(t.Context()); !errors.As(err, &gone) {
		t.Errorf("with another scope, the watch ended with %v", err)
	}
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
	var gone *discovery.ResourceGoneError
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
