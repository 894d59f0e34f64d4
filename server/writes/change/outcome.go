package change

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Outcome records what client-go does not return of a response: the time after which to retry. It is
// owned by the call that made the request.
type Outcome struct {
	retryAfter int32 // seconds
}

type outcomeKey struct{}

// WithOutcome returns a context whose requests record their outcome.
func WithOutcome(ctx context.Context) (context.Context, *Outcome) {
	o := &Outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// NoteOutcome wraps a transport to record responses. The clients of a server's ClientFactory must
// use it.
//
// It also removes Retry-After, because client-go would sleep and repeat the request up to ten
// times. The caller decides whether to wait, and the Status of the error contains the retry time.
func NoteOutcome(next http.RoundTripper) http.RoundTripper {
	return noteOutcome{next}
}

type noteOutcome struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noteOutcome) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if o, ok := request.Context().Value(outcomeKey{}).(*Outcome); ok && err == nil {
		o.note(response)
	}
	return response, err
}

func (o *Outcome) note(response *http.Response) {
	seconds, _ := strconv.ParseInt(response.Header.Get("Retry-After"), 10, 32)
	o.retryAfter = int32(max(seconds, 0))
	response.Header.Del("Retry-After")
}

// Complete adds the retry time of the response's headers to an error whose body had none.
func (o *Outcome) Complete(err error) error {
	var failed *apierrors.StatusError
	if o.retryAfter == 0 || !errors.As(err, &failed) {
		return err
	}
	if failed.ErrStatus.Details == nil {
		failed.ErrStatus.Details = &metav1.StatusDetails{}
	}
	if failed.ErrStatus.Details.RetryAfterSeconds == 0 {
		failed.ErrStatus.Details.RetryAfterSeconds = o.retryAfter
	}
	return err
}
