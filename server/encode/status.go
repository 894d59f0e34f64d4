package encode

import (
	"cmp"
	"net/http"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Status returns the Status of an error of the API server, which may be one of the service's own.
func Status(status metav1.Status) *kubeconnectv1.Status {
	detail := &kubeconnectv1.Status{
		Reason:  string(status.Reason),
		Message: status.Message,
		Code:    cmp.Or(status.Code, httpCodes[status.Reason]),
	}
	if status.Details == nil {
		return detail
	}
	detail.Group = status.Details.Group
	detail.Kind = status.Details.Kind
	detail.Name = status.Details.Name
	detail.Uid = string(status.Details.UID)
	detail.RetryAfterSeconds = status.Details.RetryAfterSeconds
	for _, cause := range status.Details.Causes {
		detail.Causes = append(detail.Causes, &kubeconnectv1.StatusCause{
			Reason:  string(cause.Type),
			Message: cause.Message,
			Field:   cause.Field,
		})
	}
	return detail
}

// ErrorStatus returns the Status of an error that has none.
func ErrorStatus(reason metav1.StatusReason, err error) *kubeconnectv1.Status {
	return Status(metav1.Status{Reason: reason, Message: err.Error()})
}

// httpCodes has the HTTP status codes that Kubernetes has for errors.
var httpCodes = map[metav1.StatusReason]int32{
	metav1.StatusReasonUnauthorized:          http.StatusUnauthorized,
	metav1.StatusReasonForbidden:             http.StatusForbidden,
	metav1.StatusReasonNotFound:              http.StatusNotFound,
	metav1.StatusReasonAlreadyExists:         http.StatusConflict,
	metav1.StatusReasonConflict:              http.StatusConflict,
	metav1.StatusReasonGone:                  http.StatusGone,
	metav1.StatusReasonExpired:               http.StatusGone,
	metav1.StatusReasonInvalid:               http.StatusUnprocessableEntity,
	metav1.StatusReasonBadRequest:            http.StatusBadRequest,
	metav1.StatusReasonUnsupportedMediaType:  http.StatusUnsupportedMediaType,
	metav1.StatusReasonNotAcceptable:         http.StatusNotAcceptable,
	metav1.StatusReasonRequestEntityTooLarge: http.StatusRequestEntityTooLarge,
	metav1.StatusReasonTooManyRequests:       http.StatusTooManyRequests,
	metav1.StatusReasonMethodNotAllowed:      http.StatusMethodNotAllowed,
	metav1.StatusReasonTimeout:               http.StatusGatewayTimeout,
	metav1.StatusReasonServerTimeout:         http.StatusInternalServerError,
	metav1.StatusReasonServiceUnavailable:    http.StatusServiceUnavailable,
	metav1.StatusReasonInternalError:         http.StatusInternalServerError,
	metav1.StatusReasonStoreReadError:        http.StatusInternalServerError,
}

// ValidUTF8 replaces invalid UTF-8 in the strings of a Status. A message with an invalid string
// cannot be sent.
func ValidUTF8(status *kubeconnectv1.Status) {
	if status == nil {
		return
	}
	texts := []*string{&status.Reason, &status.Message, &status.Group, &status.Kind, &status.Name, &status.Uid}
	for _, cause := range status.GetCauses() {
		texts = append(texts, &cause.Reason, &cause.Message, &cause.Field)
	}
	for _, text := range texts {
		*text = strings.ToValidUTF8(*text, string(utf8.RuneError))
	}
}
