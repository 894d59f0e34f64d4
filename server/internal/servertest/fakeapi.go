package servertest

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// FakeAPI is an API server with pods and widgets. It sends its objects as the snapshot of each
// watch, then the events that a test sends to it, and responds to changes as the test defines. e2e
// uses a real one; this one is for behaviour that cannot be triggered in a real one.
type FakeAPI struct {
	Objects []any    // of the snapshot
	Version string   // of the snapshot
	Events  chan any // sent to the open watch
	// Forbidden denies the service the permission to list and watch.
	Forbidden bool
	Slow      chan struct{}    // closed when the snapshot can be sent; nil for at once
	Change    http.Handler     // handles changes
	Log       http.Handler     // handles reads of a log
	List      http.Handler     // handles lists, unless they are for a watch
	Served    map[string]any   // discovery documents in addition to discovered, or replacing some
	Of        map[string][]any // objects of the snapshot, by resource, instead of objects
	// EventsOf are sent to the open watch of a resource, instead of events.
	EventsOf map[string]chan any

	mu      sync.Mutex // guards changes
	Changes []*http.Request
}

// discovered are the default discovery documents.
var discovered = map[string]any{
	"/readyz":  "ok",
	"/version": map[string]string{"gitVersion": "v1.37.1"},
	"/api":     metav1.APIVersions{Versions: []string{"v1"}},
	"/apis":    metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "example.com/v1", Version: "v1"}}}}},
	"/api/v1":  metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{Served("pods", "Pod", true, "all"), Served("nodes", "Node", false), {Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}}}},
	"/apis/example.com/v1": metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		Served("widgets", "Widget", true)}},
	"/openapi/v3": map[string]any{"paths": map[string]any{"api/v1": map[string]any{"serverRelativeURL": "/openapi/v3/api/v1?hash=a"}}},
	"/openapi/v3/api/v1": map[string]any{"components": map[string]any{"schemas": map[string]any{
		"io.k8s.api.core.v1.Pod": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"$ref": "#/components/schemas/Spec"}},
			"x-kubernetes-group-version-kind": []any{map[string]any{"group": "", "version": "v1", "kind": "Pod"}}},
		"Spec": map[string]any{"type": "object"},
	}}},
}

func Served(name, kind string, namespaced bool, categories ...string) metav1.APIResource {
	return metav1.APIResource{Name: name, SingularName: strings.ToLower(kind), Kind: kind, Namespaced: namespaced, Categories: categories, Verbs: []string{"get", "list", "watch", "patch"}}
}

func (api *FakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if answer, ok := api.Served[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	if answer, ok := discovered[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/apiservices"):
		http.NotFound(w, r) // it has no aggregated discovery
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Forbidden", Code: 403})
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/log"):
		api.Log.ServeHTTP(w, r)
	case r.Method == http.MethodGet && api.Forbidden:
		AnswerWith(http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Forbidden", Code: 403})(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		api.watch(w, r)
	case r.Method == http.MethodGet && api.List != nil:
		api.List.ServeHTTP(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusBadRequest) // a field selector that is not supported
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "BadRequest", Code: 400})
	default:
		api.mu.Lock()
		api.Changes = append(api.Changes, r.Clone(context.Background()))
		api.mu.Unlock()
		api.Change.ServeHTTP(w, r)
	}
}

func (api *FakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	send := func(event any) {
		_ = json.NewEncoder(w).Encode(event)
		_ = http.NewResponseController(w).Flush()
	}
	if api.Slow != nil {
		<-api.Slow
	}
	for _, object := range api.ObjectsAt(r.URL.Path) {
		send(WatchEvent{"ADDED", object})
	}
	bookmark := objecttest.Pod("", 0)
	bookmark.UID, bookmark.ResourceVersion = "", api.Version
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	send(WatchEvent{"BOOKMARK", bookmark})
	events := api.Events
	if api.EventsOf != nil {
		events = api.EventsOf[path.Base(r.URL.Path)]
	}
	for {
		select {
		case event := <-events:
			send(event)
		case <-r.Context().Done():
			return
		}
	}
}

// ObjectsAt returns the objects of the resource at a path, and in its namespace if it has one.
func (api *FakeAPI) ObjectsAt(urlPath string) []any {
	objects := api.Objects
	if api.Of != nil {
		objects = api.Of[path.Base(urlPath)]
	}
	_, below, isInNamespace := strings.Cut(urlPath, "/namespaces/")
	if !isInNamespace {
		return objects
	}
	namespace, _, _ := strings.Cut(below, "/")
	return slices.DeleteFunc(slices.Clone(objects), func(object any) bool {
		accessor, err := meta.Accessor(object)
		return err == nil && accessor.GetNamespace() != namespace
	})
}

// WatchEvent is an event of a watch at the API server.
type WatchEvent struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// Added returns the event of an object that was created.
func Added(object any) WatchEvent { return WatchEvent{"ADDED", object} }

// Modified returns the event of an object that was changed.
func Modified(object any) WatchEvent { return WatchEvent{"MODIFIED", object} }

// Deleted returns the event of an object that was deleted.
func Deleted(object any) WatchEvent { return WatchEvent{"DELETED", object} }
