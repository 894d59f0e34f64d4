package server

import (
	"context"
	"io"
	"net/http"

	"golang.org/x/net/http2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// liveShare is the memory that answers of the API server may take which are read for callers. They
// share nothing with a cache.
var liveShare = share{part: 4, least: 64 << 20, most: 512 << 20, unlimited: 512 << 20}

const (
	// livePart says how much of it one caller may hold: half of it.
	livePart = 2
	// liveStep is in which steps an answer is weighed while it is read.
	liveStep = 256 << 10
)

// weighing returns a client whose answers are weighed while they are read, on behalf of a unary
// call: what the API server answers has any size, and decoding begins when all of it is in memory.
// The call holds the memory until it has ended.
func weighing(ctx context.Context, client *http.Client) *http.Client {
	call := answerOf(ctx)
	if call == nil {
		return client
	}
	weighed := *client
	weighed.Transport = liveTransport{call, callerOf(identityFrom(ctx)), client.Transport}
	return &weighed
}

// liveTransport weighs the bodies of answers.
type liveTransport struct {
	call   *answer
	caller string
	http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t liveTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &liveBody{ReadCloser: response.Body, liveTransport: t}
	}
	return response, err
}

// liveBody is the body of an answer. It fails when the caller, or all callers, hold as much memory
// for such answers as they may; why is found by liveError.
type liveBody struct {
	io.ReadCloser
	liveTransport
	read, held int
}

// Read implements io.Reader.
func (b *liveBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for b.read += n; b.read > b.held; b.held += liveStep {
		if b.call.refused = b.call.holdLive(b.caller); b.call.refused != nil {
			return n, http2.StreamError{Code: http2.ErrCodeCancel} // the only error that client-go does not log
		}
	}
	return n, err
}

// holdLive holds one more step for what the API server answers. It does not wait, because
// it has memory that others may wait for.
func (a *answer) holdLive(caller string) error {
	if a.live += liveStep; a.live > a.budget.maxLive {
		return failure(metav1.StatusReasonRequestEntityTooLarge, "what the API server answers takes more than %d MiB: "+
			"narrow it by a namespace or selectors, or read it from memory, where that is allowed", a.budget.maxLive>>20)
	}
	release, ok := a.budget.live.TryAcquire(caller, liveStep)
	if !ok {
		return busy("what is being read at the API server takes as much memory as one caller may have, or as much as there is")
	}
	a.held = append(a.held, release)
	return nil
}

// liveError returns why an answer of the API server was not read, if that is so, and err otherwise.
func liveError(ctx context.Context, err error) error {
	if call := answerOf(ctx); err != nil && call != nil && call.refused != nil {
		return call.refused
	}
	return err
}
