package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// The API server's error messages are returned to callers unchanged, because callers look them up.
// This file replaces the few that are wrong, or that do not name the object.

// clarified returns an error of the API server with a message that describes what is wrong with a
// change.
func clarified(err error, dest target, change change) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) {
		return err
	}
	patch, isPatch := change.(patch)
	status := failed.Status()
	switch {
	case status.Reason == metav1.StatusReasonInvalid && strings.HasPrefix(status.Message, namelessInvalid):
		return dest.invalid(strings.TrimPrefix(status.Message, namelessInvalid), status.Details)
	case isPatch && patch.kind == types.ApplyYAMLPatchType && wrongApply.MatchString(status.Message):
		return dest.invalidApply(wrongApply.ReplaceAllString(status.Message, ""))
	case isPatch && patch.kind == types.ApplyYAMLPatchType && strings.HasPrefix(status.Message, wrongApplyKind) && dest.subresource == "":
		return apierror.BadRequest("the patch is not for %s: with PATCH_TYPE_APPLY it must have apiVersion %q and kind %q",
			dest.resource.GroupResource(), dest.resource.GroupVersion(), dest.resource.Kind)
	case isPatch && patch.kind == types.StrategicMergePatchType && status.Reason == metav1.StatusReasonUnsupportedMediaType:
		status.Message = fmt.Sprintf("%s do not support strategic merge patches, use PATCH_TYPE_MERGE, PATCH_TYPE_JSON or PATCH_TYPE_APPLY: %s",
			dest.resource.GroupResource(), status.Message)
		return &apierrors.StatusError{ErrStatus: status}
	case isPatch && patch.kind == types.JSONPatchType && status.Message == wordlessJSONPatch:
		return dest.invalid("the JSON patch cannot be applied: a \"test\" failed, or a path is not there; read the object again and create the patch for its current state", nil)
	}
	return err
}

const (
	// namelessInvalid is the prefix of the message about a patch whose result does not match the
	// type of the object: the API server omits kind and name.
	namelessInvalid = ` "" is invalid: `
	// wrongApplyKind is the prefix of the message about an apply patch with another kind or without
	// a kind.
	wrongApplyKind = "invalid object type: "
	// wordlessJSONPatch is the API server's whole message about a JSON patch that cannot be
	// applied.
	wordlessJSONPatch = "the server rejected our request due to an error in our request"
)

// wrongApply matches the prefix of the message about an apply patch that does not match the type of
// the object. The API server reports it as an internal error.
var wrongApply = regexp.MustCompile(`^failed to create typed patch object \([^)]*\): (errors:\s*)?`)

// goValue matches a value in that message.
var goValue = regexp.MustCompile(`&(?:value\.valueUnstructured)?\{(?:Value:)?(.*)\}`)

// invalid returns an error like the API server's for an invalid object. The causes are those of
// details, which may be nil.
func (t target) invalid(what string, details *metav1.StatusDetails) error {
	kind := t.resource.GroupVersionKind().GroupKind()
	failed := apierrors.NewInvalid(kind, t.name, nil)
	failed.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s", kind, t.name, what)
	if details != nil {
		failed.ErrStatus.Details.Causes = details.Causes
		failed.ErrStatus.Details.RetryAfterSeconds = details.RetryAfterSeconds
	}
	return failed
}

// invalidApply returns the error about an apply patch with invalid fields. Each line of what is
// about one field.
func (t target) invalidApply(what string) error {
	details := &metav1.StatusDetails{}
	var all []string
	for line := range strings.Lines(what) {
		line = goValue.ReplaceAllString(strings.TrimSpace(line), "$1")
		if line == "" {
			continue
		}
		all = append(all, line)
		if field, message, ok := strings.Cut(line, ": "); ok {
			details.Causes = append(details.Causes, metav1.StatusCause{
				Type: metav1.CauseTypeTypeInvalid, Field: strings.TrimPrefix(field, "."), Message: message,
			})
		}
	}
	return t.invalid(strings.Join(all, "; "), details)
}

// nodeUnreachable returns the error of a log whose node the API server cannot reach. The API server
// reports it as an internal error, and its message contains the node's address.
func nodeUnreachable(err error, namespace, pod string) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) || failed.ErrStatus.Code != http.StatusInternalServerError ||
		!strings.Contains(failed.ErrStatus.Message, "/containerLogs/") {
		return err
	}
	slog.Warn("the API server cannot reach the node of a log", "namespace", namespace, "pod", pod, "error", err)
	return apierrors.NewServiceUnavailable("the log cannot be read now: the API server cannot reach the kubelet of the pod's node; " +
		"check the state of the node, and retry")
}
