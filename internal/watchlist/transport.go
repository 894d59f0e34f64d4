package watchlist

import (
	"io"
	"net/http"
)

// attemptKey is the key of the attempt in the context of its request.
type attemptKey struct{}

// Transport wraps a transport so that guards notice each part of a response, also when an object is so large, or the connection so slow,
// that it takes long to arrive. Without it they notice events only.
func Transport(next http.RoundTripper) http.RoundTripper { return noting{next} }

type noting struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	attempt, ok := request.Context().Value(attemptKey{}).(*Attempt)
	if !ok {
		return n.next.RoundTrip(request)
	}
	attempt.sent()
	response, err := n.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		attempt.rejected()
		return response, err
	}
	attempt.arrived()
	response.Body = notingBody{response.Body, attempt}
	return response, nil
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (n noting) WrappedRoundTripper() http.RoundTripper { return n.next }

type notingBody struct {
	io.ReadCloser
	attempt *Attempt
}

// Read implements io.Reader.
func (b notingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.attempt.arrived()
	}
	return n, err
}
