package callerrors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

var (
	podResource = schema.GroupResource{Resource: "pods"}
	podKind     = schema.GroupKind{Kind: "Pod"}
	widgets     = objecttest.Widgets
	errMoved    = apierror.Failure(ReasonStreamMoved, "resume the stream over a new connection")
)

func TestConnectError_MapsErrorsToCodesAndReasons(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		code   connect.Code
		reason metav1.StatusReason // empty: no detail
	}{
		"Unauthorized":          {apierrors.NewUnauthorized("x"), connect.CodeUnauthenticated, metav1.StatusReasonUnauthorized},
		"Forbidden":             {apierrors.NewForbidden(podResource, "a", nil), connect.CodePermissionDenied, metav1.StatusReasonForbidden},
		"NotFound":              {apierrors.NewNotFound(podResource, "a"), connect.CodeNotFound, metav1.StatusReasonNotFound},
		"AlreadyExists":         {apierrors.NewAlreadyExists(podResource, "a"), connect.CodeAlreadyExists, metav1.StatusReasonAlreadyExists},
		"Conflict":              {apierrors.NewConflict(podResource, "a", errors.New("x")), connect.CodeAborted, metav1.StatusReasonConflict},
		"a conflict of Apply":   {apierrors.NewApplyConflict(nil, "x"), connect.CodeAborted, metav1.StatusReasonConflict},
		"Gone":                  {statusError(metav1.StatusReasonGone, 410), connect.CodeOutOfRange, metav1.StatusReasonGone},
		"Expired":               {apierrors.NewResourceExpired("x"), connect.CodeOutOfRange, metav1.StatusReasonExpired},
		"Invalid":               {apierrors.NewInvalid(podKind, "a", nil), connect.CodeInvalidArgument, metav1.StatusReasonInvalid},
		"BadRequest":            {apierrors.NewBadRequest("x"), connect.CodeInvalidArgument, metav1.StatusReasonBadRequest},
		"TooManyRequests":       {apierrors.NewTooManyRequests("x", 3), connect.CodeResourceExhausted, metav1.StatusReasonTooManyRequests},
		"RequestEntityTooLarge": {apierrors.NewRequestEntityTooLargeError("x"), connect.CodeResourceExhausted, metav1.StatusReasonRequestEntityTooLarge},
		"MethodNotAllowed":      {apierrors.NewMethodNotSupported(podResource, "watch"), connect.CodeUnimplemented, metav1.StatusReasonMethodNotAllowed},
		"Timeout":               {apierrors.NewTimeoutError("x", 1), connect.CodeDeadlineExceeded, metav1.StatusReasonTimeout},
		"ServerTimeout":         {apierrors.NewServerTimeout(podResource, "get", 1), connect.CodeUnavailable, metav1.StatusReasonServerTimeout},
		"ServiceUnavailable":    {apierrors.NewServiceUnavailable("x"), connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"InternalError":         {apierrors.NewInternalError(errors.New("x")), connect.CodeInternal, metav1.StatusReasonInternalError},
		"UnsupportedMediaType":  {statusError(metav1.StatusReasonUnsupportedMediaType, 415), connect.CodeInvalidArgument, metav1.StatusReasonUnsupportedMediaType},
		"NotAcceptable":         {statusError(metav1.StatusReasonNotAcceptable, 406), connect.CodeInvalidArgument, metav1.StatusReasonNotAcceptable},
		"StoreReadError":        {statusError(metav1.StatusReasonStoreReadError, 500), connect.CodeInternal, metav1.StatusReasonStoreReadError},

		"a webhook's own reason with 403": {statusError("because I say so", 403), connect.CodePermissionDenied, "because I say so"},
		"a reason that is not known":      {statusError("New", 299), connect.CodeUnknown, "New"},

		"wrapped":                             {fmt.Errorf("x: %w", apierrors.NewNotFound(podResource, "a")), connect.CodeNotFound, metav1.StatusReasonNotFound},
		"joined":                              {errors.Join(nil, apierrors.NewBadRequest("x")), connect.CodeInvalidArgument, metav1.StatusReasonBadRequest},
		"a resource that is not served":       {&discovery.UnknownResourceError{Name: "x"}, connect.CodeNotFound, metav1.StatusReasonNotFound},
		"a kind without a schema":             {&discovery.NoSchemaError{Resource: widgets}, connect.CodeNotFound, metav1.StatusReasonNotFound},
		"a resource that is gone":             {&discovery.ResourceGoneError{Resource: widgets}, connect.CodeNotFound, metav1.StatusReasonNotFound},
		"an API server that is away":          {&discovery.UnavailableError{Err: context.DeadlineExceeded}, connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"a permission that the service lacks": {&informerhub.SnapshotError{Resource: widgets, Err: apierrors.NewForbidden(podResource, "", nil)}, connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"too many requests of the service":    {&informerhub.SnapshotError{Resource: widgets, Err: apierrors.NewTooManyRequestsError("initializing")}, connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"a hub that is closed":                {informerhub.ErrClosed, connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"a service that shuts down":           {ErrShuttingDown, connect.CodeUnavailable, metav1.StatusReasonServiceUnavailable},
		"a caller who is not known":           {fmt.Errorf("x: %w", auth.ErrUnauthenticated), connect.CodeUnauthenticated, metav1.StatusReasonUnauthorized},
		"a caller's deadline":                 {fmt.Errorf("x: %w", context.DeadlineExceeded), connect.CodeDeadlineExceeded, ""},
		"a caller who has gone":               {fmt.Errorf("x: %w", context.Canceled), connect.CodeCanceled, ""},
		"an error that has a code":            {connect.NewError(connect.CodeDataLoss, "x"), connect.CodeDataLoss, ""},
		"an error that nobody has named":      {errors.New("x"), connect.CodeUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mapped := ConnectError(test.err)
			if code := connect.CodeOf(mapped); code != test.code {
				t.Errorf("the code is %s, want %s", code, test.code)
			}
			if reason := statustest.Of(t, mapped).GetReason(); reason != string(test.reason) {
				t.Errorf("the reason is %q, want %q", reason, test.reason)
			}
		})
	}
}

// TestStatusOf_HasTheHTTPCodeOfKubernetes compares the service's own errors, which have no HTTP status code, with those of
// the API server.
func TestStatusOf_HasTheHTTPCodeOfKubernetes(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want int32
	}{
		"a resource that is not served":  {&discovery.UnknownResourceError{Name: "x"}, http.StatusNotFound},
		"an API server that is away":     {&discovery.UnavailableError{Err: errors.New("connection is refused")}, http.StatusServiceUnavailable},
		"a group that is away":           {&discovery.GroupUnavailableError{}, http.StatusServiceUnavailable},
		"a hub that is closed":           {informerhub.ErrClosed, http.StatusServiceUnavailable},
		"a connection":                   {connect.NewError(connect.CodeUnavailable, "x"), http.StatusServiceUnavailable},
		"a message that was left unread": {apierror.Failure(metav1.StatusReasonServiceUnavailable, "a message was left unread for too long"), http.StatusServiceUnavailable},
		"a limit":                        {&LimitError{Over: "x"}, http.StatusTooManyRequests},
		"a caller who is not known":      {auth.ErrUnauthenticated, http.StatusUnauthorized},
		"a deadline":                     {context.DeadlineExceeded, http.StatusGatewayTimeout},
		"an unsendable message":          {connect.NewError(connect.CodeInternal, "x"), http.StatusInternalServerError},
		"a webhook's code":               {statusError("because I say so", 499), 499},
		"a code of a known reason":       {statusError(metav1.StatusReasonForbidden, 499), 499},
		"a stream that moves":            {errMoved, 0},
		"an error that nobody has named": {errors.New("x"), 0},
	} {
		if got := StatusOf(test.err).GetCode(); got != test.want {
			t.Errorf("%s has the code %d, want %d", name, got, test.want)
		}
	}
	for _, err := range []*apierrors.StatusError{
		apierrors.NewUnauthorized("x"), apierrors.NewForbidden(podResource, "a", nil), apierrors.NewNotFound(podResource, "a"),
		apierrors.NewAlreadyExists(podResource, "a"), apierrors.NewConflict(podResource, "a", nil),
		apierrors.NewResourceExpired("x"), apierrors.NewInvalid(podKind, "a", nil), apierrors.NewBadRequest("x"),
		apierrors.NewTooManyRequests("x", 1), apierrors.NewRequestEntityTooLargeError("x"), apierrors.NewMethodNotSupported(podResource, "x"),
		apierrors.NewTimeoutError("x", 1), apierrors.NewServerTimeout(podResource, "get", 1), apierrors.NewServiceUnavailable("x"),
		apierrors.NewInternalError(errors.New("x")),
	} {
		want := err.ErrStatus.Code
		if err.ErrStatus.Code = 0; StatusOf(err).GetCode() != want {
			t.Errorf("%s has the code %d, want %d", err.ErrStatus.Reason, StatusOf(err).GetCode(), want)
		}
	}
}

// TestStatusOf_LeadsToTheCodeOfTheError verifies that a client that has only the Status of an error
// knows its code.
func TestStatusOf_LeadsToTheCodeOfTheError(t *testing.T) {
	for name, err := range map[string]error{
		"the API server's":         apierrors.NewForbidden(podResource, "a", nil),
		"a webhook's":              statusError("because I say so", http.StatusForbidden),
		"of a resource":            &discovery.UnknownResourceError{Name: "x"},
		"of a limit":               &LimitError{Over: "x"},
		"of a snapshot":            &informerhub.SnapshotError{Resource: widgets, Err: apierrors.NewForbidden(podResource, "", nil)},
		"that the stream moves":    errMoved,
		"of a deadline":            fmt.Errorf("x: %w", context.DeadlineExceeded),
		"of an unsendable message": connect.NewError(connect.CodeInternal, "x"),
		"of a connection":          connect.NewError(connect.CodeUnavailable, "x"),
		"that nobody has named":    errors.New("x"),
	} {
		t.Run(name, func(t *testing.T) {
			status := StatusOf(err)
			code := codeOf(metav1.Status{Reason: metav1.StatusReason(status.GetReason()), Code: status.GetCode()})
			if want := connect.CodeOf(ConnectError(err)); code != want || status.GetMessage() == "" {
				t.Errorf("%v leads to %s, want %s", status, code, want)
			}
		})
	}
}

func TestCodeOf_KnowsTheReasonsOfClientGo(t *testing.T) {
	for _, code := range []int32{400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504} {
		answered := apierrors.NewGenericServerResponse(int(code), "get", podResource, "a", "x", 0, true)
		if codeOf(answered.ErrStatus) == connect.CodeUnknown {
			t.Errorf("%d with reason %s is UNKNOWN", code, answered.ErrStatus.Reason)
		}
		if codeOf(metav1.Status{Code: code}) == connect.CodeUnknown {
			t.Errorf("%d without a reason is UNKNOWN", code)
		}
	}
}

func TestConnectError_OfNilIsNil(t *testing.T) {
	if err := ConnectError(nil); err != nil {
		t.Errorf("returned %v", err)
	}
}

func TestConnectError_DetailMirrorsTheAPIServersStatus(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{
		field.Required(field.NewPath("spec", "selector"), "give a selector"),
		field.Invalid(field.NewPath("spec", "replicas"), -1, "not below 0"),
	})
	want := &kubeconnectv1.Status{
		Reason: "Invalid", Code: http.StatusUnprocessableEntity, Message: invalid.Error(), Group: "apps", Kind: "Deployment", Name: "web",
		Causes: []*kubeconnectv1.StatusCause{
			{Reason: "FieldValueRequired", Field: "spec.selector", Message: "Required value: give a selector"},
			{Reason: "FieldValueInvalid", Field: "spec.replicas", Message: "Invalid value: -1: not below 0"},
		},
	}
	if got := statustest.Of(t, ConnectError(invalid)); !proto.Equal(got, want) {
		t.Errorf("the detail is %v\nwant %v", got, want)
	}
	for name, err := range map[string]error{
		"the caller": apierrors.NewTooManyRequests("later", 7),
		"the service": &informerhub.SnapshotError{
			Resource: widgets, Err: apierrors.NewTooManyRequests("later", 40), RetryAfter: 6500 * time.Millisecond,
		},
	} {
		if got := statustest.Of(t, ConnectError(err)); got.GetRetryAfterSeconds() != 7 {
			t.Errorf("the API server throttles %s: retry after %d seconds", name, got.GetRetryAfterSeconds())
		}
	}
}

func statusError(reason metav1.StatusReason, code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason, Code: code, Message: "x"}}
}

func TestPrefix_IsInTheMessageAndOfAPartWithoutAStatusInTheStatus(t *testing.T) {
	refused := apierror.BadRequest("resource is required")
	for name, test := range map[string]struct {
		err    error
		status string
	}{
		"WithPrefix": {WithPrefix(refused, "of a part"), "resource is required"},
		"Within":     {Within(refused, "of a part"), "of a part: resource is required"},
	} {
		var coded *connect.Error
		if !errors.As(test.err, &coded) || coded.Message() != "of a part: resource is required" ||
			StatusIn(test.err).GetMessage() != test.status || ReasonOf(test.err) != "BadRequest" {
			t.Errorf("%s: the error is %v with the Status %v", name, test.err, StatusIn(test.err))
		}
	}
}
