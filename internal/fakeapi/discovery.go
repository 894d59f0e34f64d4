package fakeapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
