package kit

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// HeaderTransport adds headers to each request.
type HeaderTransport struct {
	Headers http.Header
	Base    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s HeaderTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	maps.Copy(request.Header, s.Headers)
	return s.Base.RoundTrip(request)
}

// ForeignRequest is a request that a web page of another site can make a browser send.
type ForeignRequest struct {
	Host    string
	Headers http.Header
}

// Send sends a request with the host and headers of another site, and returns the response without
// its body.
func Send(ctx context.Context, t *testing.T, httpClient *http.Client, url, method, contentType, body string, as ForeignRequest) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = as.Host
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for name, values := range as.Headers {
		request.Header[name] = values
	}
	answer, err := httpClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

// WatchPath is the path of the procedure Watch.
const WatchPath = "/kubeconnect.v1.ResourceService/Watch"

// HostPort returns the address of a service in the form for gRPC tools.
func HostPort(service *harness.Service) string {
	_, address, _ := strings.Cut(service.Address, "://")
	return address
}
