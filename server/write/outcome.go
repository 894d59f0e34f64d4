package write

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

// Outcome records a response of the API server, because not all of client-go's clients return all
// of it. It is owned by the call that made the request.
type Outcome struct {
	headOnly   bool         // set once: the body is not recorded
	body       bytes.Buffer // as far as the client has read it
	status     int
	warnings   []string
	unseen     []string // see warnOf
	retryAfter int32    // seconds
}

type outcomeKey struct{}

// withOutcome returns a context whose requests record their outcome.
func withOutcome(ctx context.Context) (context.Context, *Outcome) {
	o := &Outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// WithOutcomeHead returns a context whose requests record their outcome without the body, for
// responses of any length.
func WithOutcomeHead(ctx context.Context) (context.Context, *Outcome) {
	o := &Outcome{headOnly: true}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// warnOf adds warnings that the API server would send if its client sent it the duplicate fields.
func warnOf(ctx context.Context, of []error) {
	if o, ok := ctx.Value(outcomeKey{}).(*Outcome); ok {
		for _, warning := range of {
			o.unseen = append(o.unseen, warning.Error())
		}
	}
}

func (o *Outcome) created() bool { return o.status == http.StatusCreated }

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

// notedBody is a body that is recorded while it is read.
type notedBody struct {
	io.Reader
	io.Closer
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

func (o *Outcome) note(response *http.Response) {
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
