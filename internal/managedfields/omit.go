// Package managedfields has API servers omit metadata.managedFields, which is about half of an object, from responses to clients that do
// not need it.
package managedfields

import (
	"net/http"
	"strings"
)

// parameter of a media type is that of KEP-5958. API servers ignore a parameter that they do not know.
const parameter = ";drop=metadata.managedFields"

// Omit returns a client like another one, whose requests accept objects without metadata.managedFields. API servers since Kubernetes 1.38
// omit it then, with the feature gate ManagedFieldsOptOut. Others send it: the reader of the responses drops it.
func Omit(client *http.Client) *http.Client {
	omitting := *client
	omitting.Transport = transport{client.Transport}
	return &omitting
}

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	if accepted := request.Header.Get("Accept"); accepted != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Accept", strings.ReplaceAll(accepted, ",", parameter+",")+parameter)
	}
	return next.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
