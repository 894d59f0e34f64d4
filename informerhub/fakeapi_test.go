package informerhub

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/testobjects"
)

// fakeAPI is an API server whose responses to lists and watches are written by the test. It is for
// faults that a real API server cannot be brought to.
type fakeAPI struct {
	server *httptest.Server
	calls  chan *call // pending lists and watches
	// definitions are those of CustomResourceDefinitions; nil: the service has no permission to
	// read them.
	definitions chan *call
	// services are those of APIServices, if it aggregates APIs.
	services chan *call
	// defined allows the service to list the metadata of the CRD of widgets.
	defined bool

	mu          sync.Mutex // guards the fields below
	served      map[string]*metav1.APIResourceList
	discoveries int
	current     string            // its current version; empty if it cannot be requested
	currents    int               // number of requests for it
	aggregated  map[string]string // names of APIServices and of their services; nil if there is no such resource
	unready     string            // its response to readiness checks; empty if it is ready
}

// setUnready sets the API server's response to readiness checks.
func (api *fakeAPI) setUnready(checks string) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.unready = checks
}

func (api *fakeAPI) answerReady(w http.ResponseWriter) {
	api.mu.Lock()
	defer api.mu.Unlock()
	if api.unready != "" {
		http.Error(w, api.unready, http.StatusInternalServerError)
	}
}

// setCurrent sets the API server's current version.
func (api *fakeAPI) setCurrent(version string) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.current = version
}

// answerCurrent responds with the API server's current version.
func (api *fakeAPI) answerCurrent(w http.ResponseWriter) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.currents++
	if api.current == "" {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	answer(w, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: api.current},
	})
}

// aggregate sets the APIServices, by name, each with the name of its service. Empty: the service
// has no permission to read them.
func (api *fakeAPI) aggregate(services map[string]string) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.aggregated = services
}

// answerServices responds with the APIServices. Lists and watches of only their metadata are passed
// to the test.
func (api *fakeAPI) answerServices(w http.ResponseWriter, r *http.Request) {
	api.mu.Lock()
	known := api.aggregated
	api.mu.Unlock()
	metadata := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	switch {
	case known == nil || metadata && api.services == nil:
		http.NotFound(w, r)
		return
	case metadata:
		api.pass(w, r, api.services)
		return
	case len(known) == 0:
		forbid(w, serviceResource)
		return
	}
	items := []any{}
	for name, service := range known {
		version, group, _ := strings.Cut(name, ".")
		spec := map[string]any{"group": group, "version": version}
		if service != "" {
			spec["service"] = map[string]any{"name": service, "namespace": "default"}
		}
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
	}
	answer(w, map[string]any{"kind": "APIServiceList", "apiVersion": "apiregistration.k8s.io/v1", "items": items})
}

// asksForCurrent reports whether a request is only for the current version.
func asksForCurrent(r *http.Request) bool {
	query := r.URL.Query()
	return query.Get("limit") == "1" && query.Get("continue") == "" && query.Get("fieldSelector") == "" && query.Get("resourceVersion") == ""
}

var coreResources = &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
	{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Verbs: readVerbs},
	{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
	{Name: "nodes", SingularName: "node", Kind: "Node", ShortNames: []string{"no"}, Verbs: readVerbs},
	{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, Verbs: readVerbs},
	{Name: "bindings", SingularName: "binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
}}

var widgetResources = &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
	{Name: "widgets", SingularName: "widget", Kind: "Widget", Namespaced: true, Verbs: readVerbs},
}}

var readVerbs = metav1.Verbs{"get", "list", "watch"}

func newFakeAPI(t *testing.T, served ...*metav1.APIResourceList) *fakeAPI {
	t.Helper()
	api := &fakeAPI{calls: make(chan *call)}
	api.serve(served...)
	api.server = httptest.NewServer(api)
	t.Cleanup(api.server.Close)
	return api
}

// serve sets the response of discovery.
func (api *fakeAPI) serve(lists ...*metav1.APIResourceList) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.served = make(map[string]*metav1.APIResourceList)
	for _, list := range lists {
		api.served[list.GroupVersion] = list
	}
}

func (api *fakeAPI) asked() int {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.discoveries
}

func (api *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.URL.Path == "/readyz":
		api.answerReady(w)
	case r.URL.Path == "/version":
		answer(w, map[string]string{"gitVersion": "v1.37.1"})
	case len(parts) <= 3 && parts[0] == "apis", len(parts) <= 2 && parts[0] == "api":
		api.discover(w, parts)
	case parts[0] == "openapi":
		http.NotFound(w, r) // it publishes no schemas
	case asksForCurrent(r):
		api.answerCurrent(w)
	case parts[len(parts)-1] == serviceResource.Name:
		api.answerServices(w, r)
	case parts[len(parts)-1] == definitionResource.Name && api.defined:
		answer(w, map[string]any{"items": []any{map[string]any{"metadata": map[string]any{"name": "widgets.example.com"}}}})
	case parts[len(parts)-1] != definitionResource.Name:
		api.pass(w, r, api.calls)
	case api.definitions != nil:
		api.pass(w, r, api.definitions)
	default:
		forbid(w, definitionResource)
	}
}

// forbid responds that the service has no permission to read a resource.
func forbid(w http.ResponseWriter, resource Resource) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusForbidden)
	status := apierrors.NewForbidden(resource.GroupResource(), "", nil).ErrStatus
	status.APIVersion, status.Kind = "v1", "Status"
	_ = json.NewEncoder(w).Encode(status)
}

// pass lets a test respond to a call.
func (api *fakeAPI) pass(w http.ResponseWriter, r *http.Request, to chan *call) {
	c := &call{writer: w, request: r, work: make(chan func())}
	select {
	case to <- c:
		c.serve()
	case <-r.Context().Done():
	}
}

func (api *fakeAPI) discover(w http.ResponseWriter, parts []string) {
	api.mu.Lock()
	defer api.mu.Unlock()
	switch {
	case len(parts) == 1 && parts[0] == "api":
		api.discoveries++
		core := &metav1.APIVersions{}
		if api.served["v1"] != nil {
			core.Versions = []string{"v1"}
		}
		answer(w, core)
	case len(parts) == 1:
		answer(w, api.groups())
	default:
		list, ok := api.served[strings.Join(parts[1:], "/")]
		if !ok {
			http.NotFound(w, nil)
			return
		}
		answer(w, list)
	}
}

func (api *fakeAPI) groups() *metav1.APIGroupList {
	groups := &metav1.APIGroupList{}
	for _, groupVersion := range slices.Sorted(maps.Keys(api.served)) {
		if group, version, ok := strings.Cut(groupVersion, "/"); ok {
			versions := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{
				Name: group, Versions: []metav1.GroupVersionForDiscovery{versions}, PreferredVersion: versions,
			})
		}
	}
	return groups
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// call is a pending list or watch. The test writes the response, through functions that the call's
// handler runs.
type call struct {
	writer  http.ResponseWriter
	request *http.Request
	work    chan func() // closed when the response is complete
}

func (c *call) serve() {
	for {
		select {
		case work, ok := <-c.work:
			if !ok {
				return
			}
			work()
		case <-c.request.Context().Done():
			return
		}
	}
}

// do runs a function in the handler, unless the client has disconnected.
func (c *call) do(work func()) {
	done := make(chan struct{})
	select {
	case c.work <- func() { defer close(done); work() }:
		<-done
	case <-c.request.Context().Done():
	}
}

// end completes the response: an API server ends a watch after some minutes.
func (c *call) end() { close(c.work) }

func (c *call) query() url.Values { return c.request.URL.Query() }

// next returns the next call, which must be of the kind "list", "watch", or "watch-list".
func (api *fakeAPI) next(t *testing.T, kind string) *call {
	t.Helper()
	return nextOf(t, api.calls, kind)
}

func nextOf(t *testing.T, calls chan *call, kind string) *call {
	t.Helper()
	select {
	case c := <-calls:
		if got := c.kind(); got != kind {
			t.Fatalf("the API server got a %s, not a %s: %s", got, kind, c.request.URL)
		}
		return c
	case <-t.Context().Done():
		t.Fatalf("there was no %s", kind)
	}
	return nil
}

func (c *call) kind() string {
	switch {
	case c.query().Get("sendInitialEvents") == "true":
		return "watch-list"
	case c.query().Get("watch") == "true":
		return "watch"
	}
	return "list"
}

func (c *call) protobuf() bool {
	return strings.Contains(c.request.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// refuse responds with an error.
func (c *call) refuse(status metav1.Status) {
	status.APIVersion, status.Kind = "v1", "Status"
	c.do(func() {
		c.writer.Header().Set("Content-Type", runtime.ContentTypeJSON)
		c.writer.WriteHeader(int(status.Code))
		_ = json.NewEncoder(c.writer).Encode(status)
	})
	c.end()
}

// list responds with a list.
func (c *call) list(t *testing.T, list runtime.Object) {
	t.Helper()
	contentType, body := runtime.ContentTypeJSON, []byte(nil)
	if c.protobuf() {
		contentType, body = runtime.ContentTypeProtobuf, testobjects.ProtobufBody(t, list)
	} else {
		body = jsonText(t, list)
	}
	c.do(func() {
		c.writer.Header().Set("Content-Type", contentType)
		_, _ = c.writer.Write(body)
	})
	c.end()
}

// open sends the header of a watch.
func (c *call) open() *call {
	contentType := runtime.ContentTypeJSON
	if c.protobuf() {
		contentType = runtime.ContentTypeProtobuf + ";stream=watch"
	}
	c.do(func() {
		c.writer.Header().Set("Content-Type", contentType)
		c.flush()
	})
	return c
}

// send sends one event of a watch.
func (c *call) send(t *testing.T, what watch.EventType, object runtime.Object) *call {
	t.Helper()
	frame := c.frame(t, what, object)
	c.do(func() {
		_, _ = c.writer.Write(frame)
		c.flush()
	})
	return c
}

func (c *call) frame(t *testing.T, what watch.EventType, object runtime.Object) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: string(what)}
	var frame bytes.Buffer
	var err error
	if c.protobuf() {
		event.Object.Raw = testobjects.ProtobufBody(t, object)
		raw := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
		err = raw.Encode(event, protobuf.LengthDelimitedFramer.NewFrameWriter(&frame))
	} else {
		event.Object.Raw = jsonText(t, object)
		err = json.NewEncoder(&frame).Encode(event)
	}
	must(t, err)
	return frame.Bytes()
}

func (c *call) flush() { _ = http.NewResponseController(c.writer).Flush() }

func jsonText(t tester, object runtime.Object) []byte {
	t.Helper()
	if unstructured, ok := object.(json.Marshaler); ok {
		text, err := unstructured.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return testobjects.JSONOf(t, object)
}

func (api *fakeAPI) config() *rest.Config { return &rest.Config{Host: api.server.URL} }

// hubOf returns a hub on a fake API server.
func hubOf(t *testing.T, config *rest.Config) *Hub {
	t.Helper()
	hub, err := New(config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

// asking is the result of a call of Hub.Cache.
type asking struct {
	cache *Cache
	err   error
}

func ask(ctx context.Context, hub *Hub, resource Resource) <-chan asking {
	answered := make(chan asking, 1)
	go func() {
		cache, err := hub.Cache(ctx, resource)
		answered <- asking{cache, err}
	}()
	return answered
}
