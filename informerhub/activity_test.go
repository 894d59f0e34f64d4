package informerhub

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The link of a request is known over TLS and HTTP/2, where the connection is shared, and without.
func TestTraceLink_KnowsTheConnectionOfARequest(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1": (*httptest.Server).Start,
		"HTTP/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			start(server)
			defer server.Close()
			config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			client := &activity{}
			client.instrument(config)
			requests, err := rest.HTTPClientFor(config)
			must(t, err)
			defer requests.CloseIdleConnections()
			send := func() *link {
				ctx, over := traceLink(t.Context())
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
				must(t, err)
				response, err := requests.Do(request)
				must(t, err)
				_, err = io.Copy(io.Discard, response.Body)
				must(t, errors.Join(err, response.Body.Close()))
				return over()
			}
			before := time.Now()
			first, second := send(), send()
			if first == nil || first != second {
				t.Fatalf("sent over %p and %p", first, second)
			}
			last, pinged := first.lastContact()
			if pinged != (name == "HTTP/2") || pinged && !last.After(before) || !client.time().After(before) {
				t.Errorf("pinged: %t, last contact %v after the request", pinged, last.Sub(before))
			}
		})
	}
}
