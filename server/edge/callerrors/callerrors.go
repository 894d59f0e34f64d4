package callerrors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// ErrShuttingDown ends open streams when the service shuts down.
var ErrShuttingDown = errors.New("this replica of the service is shutting down: retry the call at another replica")

// ConnectError maps a domain error to a *connect.Error. An error that already has a code keeps it.
// The result has at most maxErrorBytes.
func ConnectError(err error) error {
	var coded *connect.Error
	var invalid *bounds.InvalidRequestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid): // a codec has returned it, and connect has given it a code, but no Status
		err = apierrors.NewBadRequest(invalid.Message)
	case errors.As(err, &coded):
		return bounded(coded)
	}
	if over := LimitOf(err); over != nil {
		err = over
	}
	err = withGrant(withoutAddresses(err))
	code, status := classify(err)
	return newError(code, err, status)
}

// OfRequest returns the error of a request that was being read. Connect has codes of a failure of the service for a request
// that it cannot read, such as one with a wrong length or a wrong base64: it is the client's.
func OfRequest(err error) error {
	var coded *connect.Error
	var invalid *bounds.InvalidRequestError
	if !errors.As(err, &coded) || errors.As(err, &invalid) || errors.Is(err, io.EOF) || StatusIn(err) != nil {
		return err // the end of the requests is no error
	}
	if code := coded.Code(); code != connect.CodeUnknown && code != connect.CodeInternal {
		return err
	}
	return &bounds.InvalidRequestError{Message: "the request cannot be read: " + coded.Message()}
}

func classify(err error) (connect.Code, *kubeconnectv1.Status) {
	var status apierrors.APIStatus
	var unknown *discovery.UnknownResourceError
	var gone *discovery.ResourceGoneError
	var schemaless *discovery.NoSchemaError
	var unavailable *discovery.GroupUnavailableError
	var limit *LimitError
	var snapshot *informerhub.SnapshotError
	var scope *informerhub.ScopeError
	switch {
	case errors.As(err, &snapshot): // about the service, whatever the API server's response was
		later := encode.ErrorStatus(metav1.StatusReasonServiceUnavailable, err)
		later.RetryAfterSeconds = snapshot.RetryAfterSeconds()
		return connect.CodeUnavailable, later
	case errors.As(err, &status):
		return codeOf(status.Status()), encode.Status(status.Status())
	case errors.As(err, &unknown), errors.As(err, &gone), errors.As(err, &schemaless):
		return connect.CodeNotFound, encode.ErrorStatus(metav1.StatusReasonNotFound, err)
	case errors.As(err, &unavailable):
		return connect.CodeUnavailable, encode.ErrorStatus(metav1.StatusReasonServiceUnavailable, err)
	case errors.Is(err, ErrShuttingDown), errors.Is(err, informerhub.ErrClosed), errors.As(err, &scope):
		return connect.CodeUnavailable, encode.ErrorStatus(metav1.StatusReasonServiceUnavailable, err)
	case errors.As(err, &limit):
		return connect.CodeResourceExhausted, limit.status()
	case errors.Is(err, auth.ErrUnauthenticated):
		return connect.CodeUnauthenticated, encode.ErrorStatus(metav1.StatusReasonUnauthorized, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.CodeDeadlineExceeded, nil
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled, nil
	}
	return connect.CodeUnknown, nil
}

// codes maps the API server's reasons.
var codes = map[metav1.StatusReason]connect.Code{
	metav1.StatusReasonUnauthorized:          connect.CodeUnauthenticated,
	metav1.StatusReasonForbidden:             connect.CodePermissionDenied,
	metav1.StatusReasonNotFound:              connect.CodeNotFound,
	metav1.StatusReasonAlreadyExists:         connect.CodeAlreadyExists,
	metav1.StatusReasonConflict:              connect.CodeAborted,
	metav1.StatusReasonGone:                  connect.CodeOutOfRange,
	metav1.StatusReasonExpired:               connect.CodeOutOfRange,
	metav1.StatusReasonInvalid:               connect.CodeInvalidArgument,
	metav1.StatusReasonBadRequest:            connect.CodeInvalidArgument,
	metav1.StatusReasonUnsupportedMediaType:  connect.CodeInvalidArgument,
	metav1.StatusReasonNotAcceptable:         connect.CodeInvalidArgument,
	metav1.StatusReasonRequestEntityTooLarge: connect.CodeResourceExhausted,
	metav1.StatusReasonTooManyRequests:       connect.CodeResourceExhausted,
	metav1.StatusReasonMethodNotAllowed:      connect.CodeUnimplemented,
	metav1.StatusReasonTimeout:               connect.CodeDeadlineExceeded,
	metav1.StatusReasonServerTimeout:         connect.CodeUnavailable,
	metav1.StatusReasonServiceUnavailable:    connect.CodeUnavailable,
	ReasonStreamMoved:                        connect.CodeUnavailable,
	metav1.StatusReasonInternalError:         connect.CodeInternal,
	metav1.StatusReasonStoreReadError:        connect.CodeInternal,
}

// httpCodes maps responses without a reason, or with a reason of their own, as admission webhooks
// may send.
var httpCodes = map[int32]connect.Code{
	http.StatusBadRequest:            connect.CodeInvalidArgument,
	http.StatusUnauthorized:          connect.CodeUnauthenticated,
	http.StatusForbidden:             connect.CodePermissionDenied,
	http.StatusNotFound:              connect.CodeNotFound,
	http.StatusMethodNotAllowed:      connect.CodeUnimplemented,
	http.StatusNotAcceptable:         connect.CodeInvalidArgument,
	http.StatusConflict:              connect.CodeAborted,
	http.StatusGone:                  connect.CodeOutOfRange,
	http.StatusRequestEntityTooLarge: connect.CodeResourceExhausted,
	http.StatusUnsupportedMediaType:  connect.CodeInvalidArgument,
	http.StatusUnprocessableEntity:   connect.CodeInvalidArgument,
	http.StatusTooManyRequests:       connect.CodeResourceExhausted,
	http.StatusInternalServerError:   connect.CodeInternal,
	http.StatusBadGateway:            connect.CodeUnavailable,
	http.StatusServiceUnavailable:    connect.CodeUnavailable,
	http.StatusGatewayTimeout:        connect.CodeUnavailable,
}

func codeOf(status metav1.Status) connect.Code {
	if code, ok := codes[status.Reason]; ok {
		return code
	}
	if code, ok := httpCodes[status.Code]; ok {
		return code
	}
	return connect.CodeUnknown
}

// reasonsWithoutStatus are the reasons of the errors that have a code, but no Status.
var reasonsWithoutStatus = map[connect.Code]metav1.StatusReason{
	connect.CodeDeadlineExceeded: metav1.StatusReasonTimeout,
	connect.CodeInternal:         metav1.StatusReasonInternalError,
	connect.CodeUnavailable:      metav1.StatusReasonServiceUnavailable,
}

// StatusOf returns the Status of the error that a domain error is mapped to. An error without a Status
// gets one with its message, and with a reason that is mapped to the error's code.
func StatusOf(err error) *kubeconnectv1.Status {
	var coded *connect.Error
	_ = errors.As(ConnectError(err), &coded)
	if status := StatusIn(coded); status != nil {
		return status
	}
	return encode.Status(metav1.Status{Reason: reasonsWithoutStatus[coded.Code()], Message: coded.Message()})
}

// WithPrefix returns the error that a domain error is mapped to, with a prefix in its message. The Status stays as it is: it is that of the
// part which the prefix names.
func WithPrefix(err error, prefix string) error {
	coded, status := codedOf(err)
	return newError(coded.Code(), fmt.Errorf("%s: %s", prefix, coded.Message()), status)
}

// Within is WithPrefix for a part that has no Status of its own: the prefix is in the message of the Status, too.
func Within(err error, prefix string) error {
	coded, status := codedOf(err)
	if status != nil {
		status.Message = prefix + ": " + status.GetMessage()
	}
	return newError(coded.Code(), fmt.Errorf("%s: %s", prefix, coded.Message()), status)
}

// codedOf returns the error that a domain error is mapped to, and its Status, which may be changed; nil if it has none.
func codedOf(err error) (*connect.Error, *kubeconnectv1.Status) {
	var coded *connect.Error
	_ = errors.As(ConnectError(err), &coded)
	if status := StatusIn(coded); status != nil {
		return coded, proto.CloneOf(status)
	}
	return coded, nil
}

// ReasonOf returns the reason of an error for callers; empty if it has no Status.
func ReasonOf(err error) string { return StatusIn(err).GetReason() }
