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
)

// The API server's errors are returned to callers in its own words, for these are what
// callers look up. Here are the few that say the wrong thing, or leave out what they are about.

// clarified returns an error of the API server in words that say what is wrong with a change.
func clarified(err error, to target, change change) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) {
		return err
	}
	patch, isPatch := change.(patch)
	status := failed.Status()
	switch {
	case status.Reason == metav1.StatusReasonInvalid && strings.HasPrefix(status.Message, namelessInvalid):
		return to.invalid(strings.TrimPrefix(status.Message, namelessInvalid), status.Details)
	case isPatch && patch.kind == types.ApplyYAMLPatchType && wrongApply.MatchString(status.Message):
		return to.invalidApply(wrongApply.ReplaceAllString(status.Message, ""))
	case isPatch && patch.kind == types.ApplyYAMLPatchType && strings.HasPrefix(status.Message, wrongApplyKind) && to.subresource == "":
		return badRequest("the patch is not of %s: for PATCH_TYPE_APPLY it must have apiVersion %q and kind %q",
			to.resource.GroupResource(), to.resource.GroupVersion(), to.resource.Kind)
	case isPatch && patch.kind == types.StrategicMergePatchType && status.Reason == metav1.StatusReasonUnsupportedMediaType:
		status.Message = fmt.Sprintf("%s have no strategic merge patches, use PATCH_TYPE_MERGE, PATCH_TYPE_JSON or PATCH_TYPE_APPLY: %s",
			to.resource.GroupResource(), status.Message)
		return &apierrors.StatusError{ErrStatus: status}
	case isPatch && patch.kind == types.JSONPatchType && status.Message == wordlessJSONPatch:
		return to.invalid("the JSON patch cannot be applied: a \"test\" failed, or a path is not there; read the object and make the patch for what it is now", nil)
	}
	return err
}

const (
	// namelessInvalid begins the message about a patch whose result does not fit the type of
	// the object: the API server leaves out kind and name.
	namelessInvalid = ` "" is invalid: `
	// wrongApplyKind begins the message about an apply patch of another kind, or without one.
	wrongApplyKind = "invalid object type: "
	// wordlessJSONPatch is all that the API server says of a JSON patch that cannot be applied.
	wordlessJSONPatch = "the server rejected our request due to an error in our request"
)

// wrongApply begins the message about an apply patch that does not fit the type of the
// object. The API server calls that an error of its own.
var wrongApply = regexp.MustCompile(`^failed to create typed patch object \([^)]*\): (errors:\s*)?`)

// goValue is how that message prints a value.
var goValue = regexp.MustCompile(`&(?:value\.valueUnstructured)?\{(?:Value:)?(.*)\}`)

// invalid returns an error like the one that the API server makes of an object that is not
// valid. The causes are those of details, which may be nil.
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

// invalidApply returns the error about an apply patch with fields that do not fit, one a line.
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

// nodeUnreachable returns the error of a log whose node the API server does not reach. The
// API server calls that an error of its own, and says by which address it knows the node.
func nodeUnreachable(err error, namespace, pod string) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) || failed.ErrStatus.Code != http.StatusInternalServerError ||
		!strings.Contains(failed.ErrStatus.Message, "/containerLogs/") {
		return err
	}
	slog.Warn("the API server does not reach a node for a log", "namespace", namespace, "pod", pod, "error", err)
	return apierrors.NewServiceUnavailable("the log cannot be read now: the API server does not reach the kubelet of the pod's node; " +
		"look at the state of the node, and try again")
}
