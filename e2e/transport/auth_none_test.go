package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

var trespasses = map[string]kit.ForeignRequest{
	"the host of another site":                   {Host: "evil.example"},
	"a host that only begins with the address":   {Host: "127.0.0.1.evil.example"},
	"a host that only begins with localhost":     {Host: "localhost.evil.example:80"},
	"an address of the network":                  {Host: "192.0.2.1"},
	"the origin of another site":                 {Headers: http.Header{"Origin": {"http://evil.example"}}},
	"the origin of another program on localhost": {Headers: http.Header{"Origin": {"http://127.0.0.1:1"}}},
	"the origin of a file or a sandbox":          {Headers: http.Header{"Origin": {"null"}}},
	"a fetch without an origin for another site": {Headers: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}},
}

// entrances are requests of each kind that the service accepts.
var entrances = map[string]struct{ method, path, contentType, body string }{
	"the page":         {method: http.MethodGet, path: "/"},
	"List by POST":     {method: http.MethodPost, path: listPath, contentType: "application/json", body: `{"resource":"namespaces"}`},
	"List by GET":      {method: http.MethodGet, path: listPath + "?encoding=json&connect=v1&message=%7B%22resource%22%3A%22namespaces%22%7D"},
	"List by gRPC":     {method: http.MethodPost, path: listPath, contentType: "application/grpc+proto", body: "\x00\x00\x00\x00\x04\x0a\x02no"},
	"a watch":          {method: http.MethodPost, path: "/kubeconnect.v1.ResourceService/Watch", contentType: "application/connect+json"},
	"reflection":       {method: http.MethodPost, path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", contentType: "application/grpc"},
	"a CORS preflight": {method: http.MethodOptions, path: listPath},
}

// embedded has the headers that a browser sends for a resource which a page of another site embeds
// with <object>, <iframe> or <embed>: they look as if its user had followed a link.
var embedded = kit.ForeignRequest{Headers: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"object"}}}

func TestAuthNone_EmbeddedReadsOfOtherSitesAreForbidden(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	for name, service := range map[string]*harness.Service{
		"no authentication": harness.StartService(t, kit.Cluster(t).Kubeconfig),
		"the cluster's":     harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster"),
	} {
		for where, entrance := range entrances {
			t.Run(name+" at "+where, func(t *testing.T) {
				answer := kit.Send(ctx, t, harness.HTTP1(t), service.Address+entrance.path, entrance.method, entrance.contentType, entrance.body, embedded)
				if refused := answer.StatusCode == http.StatusForbidden; refused == (where == "the page") {
					t.Errorf("response %s", answer.Status)
				}
			})
		}
	}
}

const listPath = "/kubeconnect.v1.ResourceService/List"

func TestAuthNone_WebPagesOfOtherSitesAreForbidden(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service, httpClient := harness.StartService(t, kit.Cluster(t).Kubeconfig), harness.HTTP2(t)
	for how, trespass := range trespasses {
		for where, entrance := range entrances {
			t.Run(how+" at "+where, func(t *testing.T) {
				answer := kit.Send(ctx, t, httpClient, service.Address+entrance.path, entrance.method, entrance.contentType, entrance.body, trespass)
				if answer.StatusCode != http.StatusForbidden {
					t.Errorf("response %s, want 403", answer.Status)
				}
				if allowed := answer.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
					t.Errorf("the response allows origin %q", allowed)
				}
			})
		}
	}
}

func TestAuthNone_ProgramsAndTheOwnPageAreAccepted(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service, httpClient := harness.StartService(t, kit.Cluster(t).Kubeconfig), harness.HTTP2(t)
	own := strings.TrimPrefix(service.Address, "http://")
	_, port, _ := strings.Cut(own, ":")
	for how, visit := range map[string]kit.ForeignRequest{
		"a program":                {},
		"the page":                 {Headers: http.Header{"Origin": {service.Address}, "Sec-Fetch-Site": {"same-origin"}}},
		"the page by another name": {Host: "localhost:" + port, Headers: http.Header{"Origin": {"http://localhost:" + port}}},
		"a program with a token":   {Headers: http.Header{"Authorization": {"Bearer x"}}},
	} {
		for _, where := range []string{"the page", "List by POST"} {
			t.Run(how+" at "+where, func(t *testing.T) {
				entrance := entrances[where]
				answer := kit.Send(ctx, t, httpClient, service.Address+entrance.path, entrance.method, entrance.contentType, entrance.body, visit)
				if answer.StatusCode != http.StatusOK {
					t.Errorf("response %s, want 200", answer.Status)
				}
			})
		}
	}
}

func TestAuthNone_ReadByGETNeedsAToken(t *testing.T) {
	t.Parallel()
	service, entrance := harness.StartService(t, kit.Cluster(t).Kubeconfig), entrances["List by GET"]
	for token, want := range map[string]int{"": http.StatusForbidden, "Bearer x": http.StatusOK} {
		as := kit.ForeignRequest{Headers: http.Header{}}
		if token != "" {
			as.Headers.Set("Authorization", token)
		}
		if answer := kit.Send(kit.Deadline(t), t, harness.HTTP1(t), service.Address+entrance.path, entrance.method, "", "", as); answer.StatusCode != want {
			t.Errorf("Authorization %q: response %s, want %d", token, answer.Status, want)
		}
	}
}
