package kubeapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"connectrpc.com/connect/v2"
)

func TestParse_ReadsPathsAsTheAPIServerDoes(t *testing.T) {
	for target, want := range map[string]request{
		"GET /api/v1/pods":                                 {verb: "list", version: "v1", resource: "pods"},
		"GET /api/v1/pods?watch=1":                         {verb: "watch", version: "v1", resource: "pods"},
		"GET /api/v1/pods?watch=false":                     {verb: "list", version: "v1", resource: "pods"},
		"HEAD /api/v1/namespaces/a/pods/b":                 {verb: "get", version: "v1", resource: "pods", namespace: "a", name: "b"},
		"GET /api/v1/namespaces/a":                         {verb: "get", version: "v1", resource: "namespaces", name: "a"},
		"PUT /api/v1/namespaces/a/finalize":                {verb: "update", version: "v1", resource: "namespaces", name: "a", subresource: "finalize"},
		"GET /api/v1/namespaces/a/status":                  {verb: "get", version: "v1", resource: "namespaces", name: "a", subresource: "status"},
		"DELETE /apis/apps/v1/namespaces/a/deployments":    {verb: "deletecollection", group: "apps", version: "v1", resource: "deployments", namespace: "a"},
		"PATCH /apis/apps/v1/namespaces/a/deployments/b":   {verb: "patch", group: "apps", version: "v1", resource: "deployments", namespace: "a", name: "b"},
		"POST /api/v1/namespaces/a/pods/b/exec?command=ls": {verb: "create", version: "v1", resource: "pods", namespace: "a", name: "b", subresource: "exec"},
		"GET /api/v1/namespaces/a/pods/b/log?follow=true":  {verb: "get", version: "v1", resource: "pods", namespace: "a", name: "b", subresource: "log"},
		"GET /api":                                          {},
		"GET /api/v1":                                       {},
		"GET /apis/apps/v1":                                 {},
		"GET /api/v1/watch/pods":                            {verb: "watch", version: "v1", resource: "pods"},
		"GET /api/v1/watch/namespaces/a/pods/b":             {verb: "watch", version: "v1", resource: "pods", namespace: "a", name: "b"},
		"GET /api/v1/pods?watch":                            {verb: "watch", version: "v1", resource: "pods"},
		"GET /api/v1//pods":                                 {},
		"GET /api/v1/namespaces/a/../pods":                  {},
		"GET /api/v1/namespaces/a%2Fb/pods":                 {},
		"GET /openapi/v3":                                   {},
		"OPTIONS /api/v1/pods":                              {version: "v1", resource: "pods"},
		"GET /apis/a.example.com/v1/namespaces/b/widgets/c": {verb: "get", group: "a.example.com", version: "v1", resource: "widgets", namespace: "b", name: "c"},
	} {
		t.Run(target, func(t *testing.T) {
			got := parse(requestOf(t, target))
			got.query, got.isWatch, got.isFollowed, got.isUpload = nil, false, false, false
			if got.verb != want.verb || got.group != want.group || got.version != want.version || got.resource != want.resource ||
				got.namespace != want.namespace || got.name != want.name || got.subresource != want.subresource {
				t.Errorf("parsed as %+v, want %+v", got, want)
			}
		})
	}
}

func requestOf(t *testing.T, target string) *http.Request {
	t.Helper()
	var method, path string
	for i, c := range target {
		if c == ' ' {
			method, path = target[:i], target[i+1:]
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	r.URL = u
	return r
}

func TestParse_KnowsWhatHasNoEnd(t *testing.T) {
	for target, want := range map[string]connect.StreamType{
		"GET /api/v1/pods":                                   connect.StreamTypeUnary,
		"GET /api/v1/pods?watch=true":                        connect.StreamTypeServer,
		"GET /api/v1/watch/pods":                             connect.StreamTypeServer,
		"GET /api/v1/namespaces/a/pods/b/log":                connect.StreamTypeUnary,
		"GET /api/v1/namespaces/a/pods/b/log?follow=true":    connect.StreamTypeServer,
		"GET /api/v1/namespaces/a/pods/b/exec":               connect.StreamTypeBidi,
		"POST /api/v1/namespaces/a/pods/b/portforward":       connect.StreamTypeBidi,
		"GET /api/v1/namespaces/a/services/b/proxy/some/uri": connect.StreamTypeBidi,
	} {
		t.Run(target, func(t *testing.T) {
			if got := parse(requestOf(t, target)).streamType(); got != want {
				t.Errorf("the type is %v, want %v", got, want)
			}
		})
	}
}

func TestRequest_IsReadIfItChangesNothing(t *testing.T) {
	for target, want := range map[string]bool{
		"GET /api/v1/pods":                                              true,
		"GET /api/v1/namespaces/a/pods/b/log":                           true,
		"GET /api/v1/namespaces/a/pods/b/exec":                          false,
		"GET /api/v1/namespaces/a/services/b/proxy":                     false,
		"GET /api/v1/proxy/namespaces/a/services/b":                     false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":   true,
		"POST /apis/authentication.k8s.io/v1/selfsubjectreviews":        true,
		"POST /apis/authentication.k8s.io/v1/tokenreviews":              false,
		"POST /api/v1/namespaces/a/pods":                                false,
		"PATCH /api/v1/namespaces/a/pods/b":                             false,
		"POST /api/v1/namespaces/a/serviceaccounts/b/token":             false,
		"DELETE /api/v1/namespaces/a/pods/b":                            false,
		"GET /api/v1/namespaces/a/pods/b/portforward":                   false,
		"GET /api/v1/namespaces/a/pods/b/%65xec":                        false,
		"GET /api/v1/namespaces/a/pods/b//exec":                         false,
		"GET /api/v1/namespaces/a/pods/./b/exec":                        false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a": false,
		"OPTIONS /api/v1/pods":                                          true,
	} {
		t.Run(target, func(t *testing.T) {
			r := requestOf(t, target)
			if got := parse(r).isRead(r.Method); got != want {
				t.Errorf("a read: %t, want %t", got, want)
			}
		})
	}
}

func TestRequest_WithAnUpgradeIsNoRead(t *testing.T) {
	for _, target := range []string{"GET /api/v1/pods?watch=1", "GET /api/v1", "GET /version"} {
		r := requestOf(t, target)
		r.Header.Set("Upgrade", "websocket")
		if p := parse(r); p.isRead(r.Method) || p.streamType() != connect.StreamTypeBidi {
			t.Errorf("%s is a read of type %v", target, p.streamType())
		}
	}
}

// FuzzParse checks that whatever is taken for a read of objects has names that are whole segments of the path.
func TestRequest_WithAnOfferOfHTTP2IsARead(t *testing.T) {
	r := requestOf(t, "GET /api/v1/namespaces/a/pods/b")
	r.Header.Set("Connection", "Upgrade, HTTP2-Settings")
	r.Header.Set("Upgrade", "h2c")
	r.Header.Set("HTTP2-Settings", "AAMAAABkAAQAAP__")
	dropOfferOfHTTP2(r.Header)
	if got := parse(r); got.isUpload || len(r.Header) > 0 {
		t.Errorf("parsed as %+v, with the headers %v", got, r.Header)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/api/v1/namespaces/a/pods/b", "watch=1")
	f.Add("/apis/apps/v1/namespaces/a/deployments", "limit=1")
	f.Add("/api/v1/namespaces//pods/../x%2Fy", "")
	f.Fuzz(func(t *testing.T, path, query string) {
		u, err := url.Parse(path)
		if err != nil || len(path) == 0 || path[0] != '/' {
			return
		}
		u.RawQuery = query
		p := parse(&http.Request{Method: http.MethodGet, URL: u})
		if !p.isOnObjects() {
			return
		}
		again := "/api/" + p.version
		if p.group != "" {
			again = "/apis/" + p.group + "/" + p.version
		}
		if p.namespace != "" {
			again += "/namespaces/" + p.namespace
		}
		again += "/" + p.resource
		if p.name != "" {
			again += "/" + p.name
		}
		if got := u.Path; got != again && got != again+"/" {
			t.Errorf("%q is read as %q", got, again)
		}
	})
}

func TestToken_IsReadAsItWasWritten(t *testing.T) {
	for _, text := range []string{"", "x", "e30", "eyJ2IjoidjEiLCJydiI6MSwic3RhcnQiOiJhIn0"} {
		if _, _, ok := readToken(text); ok {
			t.Errorf("%q was read as a token", text)
		}
	}
}
