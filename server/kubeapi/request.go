package kubeapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// request is what a request's method and path mean, as the API server reads them. It is a value.
type request struct {
	verb                          string // as RBAC names it; empty for a request about no resource, such as discovery
	group, version, resource      string
	namespace, name, subresource  string
	query                         url.Values
	isWatch, isFollowed, isUpload bool // see streamType
	// isUnclear is set for a path that is written in another way than clients of the API server write it. It is about no resource
	// here: the API server alone decides what it means.
	isUnclear bool
	// isDeprecated is set for a watch whose path has "watch" before the resource.
	isDeprecated bool
}

// parse reads a request.
func parse(r *http.Request) request {
	p := parsePath(r)
	p.isUpload = p.isUpload || r.Header.Get("Upgrade") != ""
	return p
}

// dropOfferOfHTTP2 removes the offer of HTTP/2 without TLS that some clients make in every request. It is about the connection to the
// service, and no connection into a container.
func dropOfferOfHTTP2(header http.Header) {
	if strings.EqualFold(header.Get("Upgrade"), "h2c") {
		header.Del("Upgrade")
		header.Del("Connection")
		header.Del("HTTP2-Settings")
	}
}

func parsePath(r *http.Request) request {
	if r.URL.RawPath != "" {
		return request{isUnclear: true}
	}
	query := r.URL.Query()
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/"), "/")
	p := request{query: query}
	switch {
	case slices.Contains(parts, ""), slices.Contains(parts, "."), slices.Contains(parts, ".."):
		return request{isUnclear: true}
	case parts[0] == "api" && len(parts) > 2:
		p.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		p.group, p.version, parts = parts[1], parts[2], parts[3:]
	default:
		return request{}
	}
	if parts[0] == "proxy" { // a deprecated form, that API servers no longer have
		return request{isUpload: true}
	}
	if parts[0] == "watch" && len(parts) > 1 { // a deprecated form
		p.isDeprecated, parts = true, parts[1:]
	}
	// A namespace is the parent of what follows its name, except of its own subresources.
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains(namespaceSubresources, parts[2]) {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.resource = parts[0]
	if len(parts) > 1 {
		p.name = parts[1]
	}
	if len(parts) > 2 {
		p.subresource = parts[2]
	}
	p.verb = verbOf(r.Method, p)
	p.isWatch = p.verb == "watch"
	p.isUpload = slices.Contains(connecting, p.subresource)
	p.isFollowed = p.subresource == "log" && isSet(query, "follow")
	return p
}

// namespaceSubresources are the subresources of namespaces.
var namespaceSubresources = []string{"status", "finalize"}

// connecting are the subresources that are connections in both directions.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

func verbOf(method string, p request) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		switch {
		case p.isDeprecated:
			return "watch"
		case p.name != "":
			return "get"
		case isSet(p.query, "watch"):
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if p.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// isTrue reports whether the value of a parameter is true, as the API server reads it.
func isTrue(value string) bool { return value != "0" && !strings.EqualFold(value, "false") }

// isSet reports whether a query has a parameter that is true: also one without a value is.
func isSet(query url.Values, name string) bool { return query.Has(name) && isTrue(query.Get(name)) }

// isOnObjects reports whether the request is about objects themselves, and not about a subresource.
func (p request) isOnObjects() bool { return p.verb != "" && p.subresource == "" && !p.isDeprecated }

// procedure returns the name of the kind of request in metrics, logs and limits.
func (p request) procedure() string {
	switch {
	case p.isUpload:
		return bounds.Kubernetes + "connect"
	case p.verb != "":
		return bounds.Kubernetes + p.verb
	case p.isWatch:
		return bounds.Kubernetes + "watch"
	}
	return bounds.Kubernetes + "other"
}

func (p request) streamType() connect.StreamType {
	switch {
	case p.isUpload:
		return connect.StreamTypeBidi
	case p.isWatch, p.isFollowed:
		return connect.StreamTypeServer
	}
	return connect.StreamTypeUnary
}

// resourceName returns the resource in kubectl's syntax: "deployments.v1.apps"; empty if the request is about none.
func (p request) resourceName() string {
	if p.resource == "" {
		return ""
	}
	return strings.TrimSuffix(p.resource+"."+p.version+"."+p.group, ".")
}

func (p request) subject() call.Subject {
	return call.Subject{Resource: p.resourceName(), Namespace: p.namespace, Name: p.name, Subresource: p.subresource}
}

// isRead reports whether the request changes nothing. Reviews are created, and kept nowhere.
func (p request) isRead(method string) bool {
	switch {
	case p.isUpload, p.isUnclear:
		return false
	case method == http.MethodPost && p.name == "":
		return p.group == "authorization.k8s.io" || p.group == "authentication.k8s.io" && p.resource == "selfsubjectreviews"
	}
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
