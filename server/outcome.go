package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// outcome is what an answer of the API server says, which not all of client-go's
// clients pass on as it is. It is owned by the call that made it.
type outcome struct {
	headOnly   bool         // set once: the body is not noted
	body       bytes.Buffer // as far as the client has read it
	status     int
	warnings   []string
	unseen     []string // see warnOf
	retryAfter int32    // seconds
}

type outcomeKey struct{}

// withOutcome makes a context whose requests note their outcome.
func withOutcome(ctx context.Context) (context.Context, *outcome) {
	o := &outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// withOutcomeButBody is withOutcome for answers that may be of any length.
func withOutcomeButBody(ctx context.Context) (context.Context, *outcome) {
	o := &outcome{headOnly: true}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// warnOf adds what the API server would warn of, had it seen what its client does not send.
func warnOf(ctx context.Context, of []error) {
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		for _, warning := range of {
			o.unseen = append(o.unseen, warning.Error())
		}
	}
}

func (o *outcome) created() bool { return o.status == http.StatusCreated }

// NoteOutcome wraps a transport so that answers are noted. The clients of a
// server's ClientFactory must be made with it.
//
// It also keeps Retry-After from client-go, which would sleep and repeat the
// request up to ten times: whether to wait is the caller's to decide, and the
// answer's Status tells for how long.
func NoteOutcome(next http.RoundTripper) http.RoundTripper {
	return noteOutcome{next}
}

type noteOutcome struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noteOutcome) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if o, ok := request.Context().Value(outcomeKey{}).(*outcome); ok && err == nil {
		o.note(response)
	}
	return response, err
}

// notedBody is a body that is noted while it is read.
type notedBody struct {
	io.Reader
	io.Closer
}

// complete puts the retry time of the answer's head into an error whose body had
// none.
func (o *outcome) complete(err error) error {
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

func (o *outcome) note(response *http.Response) {
	o.status, o.warnings = response.StatusCode, nil
	o.body.Reset()
	if !o.headOnly {
		response.Body = notedBody{io.TeeReader(response.Body, &o.body), response.Body}
	}
	seconds, _ := strconv.ParseInt(response.Header.Get("Retry-After"), 10, 32)
	o.retryAfter = int32(max(seconds, 0))
	response.Header.Del("Retry-After")
	parsed, _ := utilnet.ParseWarningHeaders(response.Header["Warning"])
	for _, warning := range parsed {
		o.warnings = append(o.warnings, warning.Text)
	}
}
