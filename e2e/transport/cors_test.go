package transport_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// listedOrigin is the origin of a page that the operator allows.
const listedOrigin = "https://app.example.com"

// preflights are the CORS preflights of a browser before the calls of each protocol: the method,
// and the headers, in the order and case that the standard requires.
var preflights = map[string][2]string{
	"a unary call by Connect":    {http.MethodPost, "authorization,connect-protocol-version,connect-timeout-ms,content-type"},
	"a read by Connect with GET": {http.MethodGet, "authorization"},
	"a call by gRPC-Web":         {http.MethodPost, "authorization,content-type,grpc-timeout,x-grpc-web,x-user-agent"},
	"a stream by Connect":        {http.MethodPost, "authorization,connect-protocol-version,content-type"},
	"a call without a token":     {http.MethodPost, "connect-protocol-version,content-type"},
}

func TestTransport_OnlyListedOriginsMayCall(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	open := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster", "--cors-origin", "https://other.example.com,"+listedOrigin)
	closed := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster")
	for name, preflight := range preflights {
		for _, path := range []string{listPath, kit.WatchPath} {
			t.Run(name+" of "+path, func(t *testing.T) {
				ask := func(service *harness.Service, origin string) http.Header {
					return preflightOf(ctx, t, service.Address+path, origin, preflight)
				}
				wantAllowed(t, ask(open, listedOrigin), preflight)
				wantNothingAllowed(t, ask(open, "https://evil.example.com"))
				wantNothingAllowed(t, ask(open, "http://app.example.com"))
				wantNothingAllowed(t, ask(open, "null"))
				wantNothingAllowed(t, ask(closed, listedOrigin))
			})
		}
	}
}

func TestTransport_ListedOriginsReadErrors(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster", "--cors-origin", listedOrigin)
	page := kit.ForeignRequest{Headers: http.Header{"Origin": {listedOrigin}}}
	for name, contentType := range map[string]string{"Connect": "application/json", "gRPC-Web": "application/grpc-web+proto"} {
		t.Run(name, func(t *testing.T) {
			answer := kit.Send(kit.Deadline(t), t, harness.OneCallConnections(t), service.Address+listPath, http.MethodPost, contentType, "{}", page)
			if got := answer.Header.Get("Access-Control-Allow-Origin"); got != listedOrigin {
				t.Errorf("the response allows origin %q", got)
			}
			exposed := strings.Split(strings.ToLower(answer.Header.Get("Access-Control-Expose-Headers")), ", ")
			for _, header := range []string{"grpc-status", "grpc-message", "grpc-status-details-bin"} {
				if !slices.Contains(exposed, header) {
					t.Errorf("%s is not exposed, only %q", header, exposed)
				}
			}
		})
	}
}

// preflightOf sends a preflight as a browser does, and returns the headers of the response.
func preflightOf(ctx context.Context, t *testing.T, url, origin string, call [2]string) http.Header {
	t.Helper()
	asking := http.Header{
		"Origin":                         {origin},
		"Access-Control-Request-Method":  {call[0]},
		"Access-Control-Request-Headers": {call[1]},
	}
	return kit.Send(ctx, t, harness.OneCallConnections(t), url, http.MethodOptions, "", "", kit.ForeignRequest{Headers: asking}).Header
}

func wantAllowed(t *testing.T, answer http.Header, call [2]string) {
	t.Helper()
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      listedOrigin,
		"Access-Control-Allow-Methods":     call[0],
		"Access-Control-Allow-Headers":     call[1],
		"Access-Control-Max-Age":           "7200",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := answer.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func wantNothingAllowed(t *testing.T, answer http.Header) {
	t.Helper()
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"} {
		if got := answer.Get(name); got != "" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
