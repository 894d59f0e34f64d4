package budget

import (
	"context"
	"io"
	"net/http"

	"golang.org/x/net/http2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// upstreamShare is the memory for responses of the API server that are read for callers. They share
// nothing with a cache.
var upstreamShare = memorylimit.Share{Divisor: 8, Min: 64 << 20, Max: 512 << 20, Unlimited: 512 << 20}

const (
	// upstreamDivisor limits one caller to half of it.
	upstreamDivisor = 2
	// upstreamStep is the unit in which memory for the responses to a call is reserved while they are read.
	upstreamStep = 256 << 10
)

// ReservingClient returns a client that reserves memory for responses while it reads them, on
// behalf of a unary call: the API server's responses can have any size, and decoding begins when
// all of the response is in memory. The call releases the memory when it ends.
//
// A call can read many small responses, such as a list of each of a thousand namespaces. It reserves what it has read
// of all of them, and less than a step more. When it has no memory for more, the client sends no further requests.
func ReservingClient(ctx context.Context, client *http.Client) *http.Client {
	memory := callMemoryOf(ctx)
	if memory == nil {
		return client
	}
	weighed := *client
	weighed.Transport = upstreamTransport{memory, call.CallerKey(call.IdentityFrom(ctx)), client.Transport}
	return &weighed
}

// upstreamTransport reserves memory for the bodies of responses. It is used for one call, whose requests follow each other:
// callMemory has no lock.
type upstreamTransport struct {
	call   *callMemory
	caller string // see call.CallerKey
	http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t upstreamTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.call.upstreamErr != nil {
		return nil, errNotReserved // its response could not be read
	}
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &upstreamBody{ReadCloser: response.Body, upstreamTransport: t}
	}
	return response, err
}

// upstreamBody is the body of a response. Reading fails when the caller, or all callers together, use
// all memory for such responses. UpstreamError returns the reason.
//
// Memory is reserved right after the bytes were read, step by step, because the length of a response is not known before.
type upstreamBody struct {
	io.ReadCloser
	upstreamTransport
}

// errNotReserved ends the reading of a response. It is the only error that client-go does not log.
var errNotReserved = http2.StreamError{Code: http2.ErrCodeCancel}

// Read implements io.Reader. After it has failed for lack of memory it fails for good: client-go reads
// on after an error, to reuse the connection.
func (b *upstreamBody) Read(p []byte) (int, error) {
	if b.call.upstreamErr != nil {
		return 0, errNotReserved
	}
	n, err := b.ReadCloser.Read(p)
	if b.call.upstreamErr = b.call.reserveUpstream(b.caller, n); b.call.upstreamErr != nil {
		return n, errNotReserved
	}
	return n, err
}

// reserveUpstream reserves memory for bytes more of the API server's responses. It does not wait, because
// the call has reserved memory that other calls may wait for.
//
// Responses that are larger than the whole part of a caller are too large, whatever other calls hold: another attempt would fail
// too. Otherwise another attempt can succeed when other calls have ended.
func (m *callMemory) reserveUpstream(caller string, bytes int) error {
	for m.upstreamRead += int64(bytes); m.upstreamRead > m.upstreamHeld; m.upstreamHeld += upstreamStep {
		if m.upstreamHeld+upstreamStep > m.budget.MaxUpstream {
			return apierror.Failure(metav1.StatusReasonRequestEntityTooLarge, "the API server's responses to this call are too large: more than %d MiB in all; "+
				"narrow it by a namespace or selectors, or read from the cache if the resource is cached", m.budget.MaxUpstream>>20)
		}
		release, ok := m.budget.Upstream.TryAcquire(caller, upstreamStep)
		if !ok {
			return Busy(callerrors.LimitUpstreamMemory, "too much is being read at the API server, by you or in all, for the memory of the service")
		}
		m.held = append(m.held, release)
	}
	return nil
}

// UpstreamError returns the reason why a response of the API server was not read, if there is one, and
// err otherwise.
func UpstreamError(ctx context.Context, err error) error {
	if call := callMemoryOf(ctx); err != nil && call != nil && call.upstreamErr != nil {
		return call.upstreamErr
	}
	return err
}
