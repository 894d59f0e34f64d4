// Package fakeapi is a fake of the Kubernetes API server, for faults that a real one cannot be
// brought to. It serves discovery, and the test writes its responses to lists and watches:
//
//	api := fakeapi.New(t, fakeapi.Core)
//	… // something that lists or watches, with the client configuration api.Config()
//	api.Next(t, "list").List(t, &corev1.PodList{})
//	api.Next(t, "watch").Open().Send(t, watch.Added, pod)
//
// Without its network ([Server.DirectConfig]), it can be used with fake time.
package fakeapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Server is a fake API server. By default the service has no permission to read
// CustomResourceDefinitions, there are no APIServices, no schemas are published, and the current
// resource version cannot be requested, and it has no reviews of its own user. Its methods are safe for concurrent use.
type Server struct {
	calls Calls // lists and watches of resources without a handler

	mu        sync.Mutex       // guards the fields below
	listener  *httptest.Server // nil before the first call of Config
	handlers  map[string]http.Handler
	served    map[string]*metav1.APIResourceList // by group and version
	documents map[string]Document                // by path below /openapi/v3
	requests  map[string]int                     // number of requests for discovery and schemas, by path
	unready   string                             // the response to readiness checks; empty if it is ready
	version   string                             // the current resource version; empty if it cannot be requested
	versions  int                                // number of requests for the current version
}

// New returns a server of some resources. It ends with the test.
func New(t testing.TB, served ...*metav1.APIResourceList) *Server {
	t.Helper()
	s := Start(served...)
	t.Cleanup(s.Close)
	return s
}

// Start returns a server of some resources. Call Close when done.
func Start(served ...*metav1.APIResourceList) *Server {
	s := &Server{calls: make(Calls), handlers: make(map[string]http.Handler), requests: make(map[string]int)}
	s.Serve(served...)
	s.Handle("apiservices", http.NotFoundHandler())
	for _, review := range []string{"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"} {
		s.Handle(review, http.NotFoundHandler()) // the lists and watches themselves say what is allowed
	}
	s.Handle("customresourcedefinitions", http.HandlerFunc(Forbid))
	return s
}

// Config returns the configuration of clients. The first call begins to listen for them.
func (s *Server) Config() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		s.listener = httptest.NewServer(s)
	}
	return &rest.Config{Host: s.listener.URL}
}

// Close stops listening, and waits for the handlers.
func (s *Server) Close() {
	s.mu.Lock()
	listener := s.listener
	s.mu.Unlock()
	if listener != nil {
		listener.Close()
	}
}

// DirectConfig returns a configuration of clients that use no network, so that time can be faked.
func (s *Server) DirectConfig() *rest.Config {
	return &rest.Config{Host: "http://api.example", Transport: TransportFunc(s.RoundTrip)}
}

// TransportFunc is a function that is a transport.
type TransportFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f TransportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Handle sets the handler of the lists and watches of a resource, instead of [Server.Next].
func (s *Server) Handle(resource string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[resource] = handler
}

// SetUnready sets the response to readiness checks; empty for a server that is ready.
func (s *Server) SetUnready(checks string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unready = checks
}

// SetVersion sets the current resource version.
func (s *Server) SetVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// VersionRequests returns the number of requests for the current resource version.
func (s *Server) VersionRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions
}

// Next returns the next list or watch of a resource without a handler. See [Calls.Next].
func (s *Server) Next(t testing.TB, kind string) *Call {
	t.Helper()
	return s.calls.Next(t, kind)
}

// Pending returns a list or watch that waits for its response; nil if there is none.
func (s *Server) Pending() *Call {
	select {
	case call := <-s.calls:
		return call
	default:
		return nil
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.URL.Path == "/readyz":
		s.serveReadiness(w)
	case r.URL.Path == "/version":
		Respond(w, map[string]string{"gitVersion": "v1.37.1"})
	case len(parts) <= 3 && parts[0] == "apis", len(parts) <= 2 && parts[0] == "api":
		s.serveDiscovery(w, r, parts)
	case parts[0] == "openapi":
		s.serveSchemas(w, r)
	case isVersionRequest(r):
		s.serveVersion(w)
	default:
		s.handlerOf(parts[len(parts)-1]).ServeHTTP(w, r)
	}
}

func (s *Server) handlerOf(resource string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if handler, ok := s.handlers[resource]; ok {
		return handler
	}
	return s.calls
}

func (s *Server) serveReadiness(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unready != "" {
		http.Error(w, s.unready, http.StatusInternalServerError)
	}
}

// isVersionRequest reports whether a request is only for the current resource version.
func isVersionRequest(r *http.Request) bool {
	query := r.URL.Query()
	return query.Get("limit") == "1" && query.Get("continue") == "" && query.Get("fieldSelector") == "" && query.Get("resourceVersion") == ""
}

func (s *Server) serveVersion(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	if s.version == "" {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	Respond(w, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: s.version},
	})
}

// Respond sends a value as JSON.
func Respond(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_ = json.NewEncoder(w).Encode(value)
}

// Forbid responds that the service has no permission.
func Forbid(w http.ResponseWriter, _ *http.Request) {
	refuse(w, apierrors.NewForbidden(schema.GroupResource{}, "", nil).ErrStatus)
}

func refuse(w http.ResponseWriter, status metav1.Status) {
	status.APIVersion, status.Kind = "v1", "Status"
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// ReadVerbs are the verbs of a resource that can be cached.
var ReadVerbs = metav1.Verbs{"get", "list", "watch"}

// Core is discovery's list of some resources of the core group.
var Core = &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
	{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Verbs: ReadVerbs},
	{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
	{Name: "nodes", SingularName: "node", Kind: "Node", ShortNames: []string{"no"}, Verbs: ReadVerbs},
	{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, Verbs: ReadVerbs},
	{Name: "bindings", SingularName: "binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
}}

// Widgets is discovery's list of a custom resource.
var Widgets = &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
	{Name: "widgets", SingularName: "widget", Kind: "Widget", Namespaced: true, Verbs: ReadVerbs},
}}

// Serve sets the resources that discovery lists.
func (s *Server) Serve(lists ...*metav1.APIResourceList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = make(map[string]*metav1.APIResourceList)
	for _, list := range lists {
		s.served[list.GroupVersion] = list
	}
}

// Discoveries returns how often discovery was read.
func (s *Server) Discoveries() int { return s.Requests()["/api"] }

// Requests returns the number of requests for discovery and for schemas, by path.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// Block blocks the responses of discovery until resume is called.
func (s *Server) Block() (resume func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request, parts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.URL.Path]++
	list, ok := s.served[strings.Join(parts[1:], "/")]
	switch {
	case r.URL.Path == "/api" && s.served["v1"] != nil:
		Respond(w, metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/api":
		Respond(w, metav1.APIVersions{})
	case r.URL.Path == "/apis":
		Respond(w, s.groupsLocked())
	case ok:
		Respond(w, list)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) groupsLocked() *metav1.APIGroupList {
	groups := &metav1.APIGroupList{}
	for _, groupVersion := range slices.Sorted(maps.Keys(s.served)) {
		if group, version, ok := strings.Cut(groupVersion, "/"); ok {
			versions := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{
				Name: group, Versions: []metav1.GroupVersionForDiscovery{versions}, PreferredVersion: versions,
			})
		}
	}
	return groups
}

// Document is an OpenAPI document.
type Document struct {
	Query string // of its URL, such as "?hash=1"
	Text  string
}

// Publish sets the OpenAPI documents, by path below /openapi/v3.
func (s *Server) Publish(documents map[string]Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents = documents
}

func (s *Server) serveSchemas(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.URL.Path]++
	document, ok := s.documents[strings.TrimPrefix(r.URL.Path, "/openapi/v3/")]
	switch {
	case ok:
		_, _ = w.Write([]byte(document.Text))
	case r.URL.Path == "/openapi/v3" && s.documents != nil:
		paths := make(map[string]any)
		for path, document := range s.documents {
			paths[path] = map[string]string{"serverRelativeURL": "/openapi/v3/" + path + document.Query}
		}
		Respond(w, map[string]any{"paths": paths})
	default:
		http.NotFound(w, r)
	}
}

// APIServices returns a handler of lists of APIServices, by name, each with the name of its
// service; empty for an API of the API server itself. Without any, the service has no permission to
// list them. It does not serve their metadata.
func APIServices(services map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case WantsMetadata(r):
			http.NotFound(w, r)
		case len(services) == 0:
			Forbid(w, r)
		default:
			Respond(w, apiServiceList(services))
		}
	})
}

func apiServiceList(services map[string]string) any {
	items := []any{}
	for name, service := range services {
		version, group, _ := strings.Cut(name, ".")
		spec := map[string]any{"group": group, "version": version}
		if service != "" {
			spec["service"] = map[string]any{"name": service, "namespace": "default"}
		}
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
	}
	return map[string]any{"kind": "APIServiceList", "apiVersion": "apiregistration.k8s.io/v1", "items": items}
}

// WantsMetadata reports whether a request is for the metadata of objects only.
func WantsMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
}
