package change

import (
	"errors"
	"fmt"
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
func clarified(err error, dest Target, change Change) error {
	var failed *apierrors.StatusError
	if !errors.As(err, &failed) {
		return err
	}
	patch, isPatch := change.(Patch)
	status := failed.Status()
	switch {
	case unreadableVersion.MatchString(status.Message):
		return apierror.BadRequest("the resourceVersion is %s, which no object has: give the resource version of a response",
			unreadableVersion.FindStringSubmatch(status.Message)[1])
	case status.Reason == metav1.StatusReasonInvalid && strings.HasPrefix(status.Message, namelessInvalid):
		return dest.invalid(strings.TrimPrefix(status.Message, namelessInvalid), status.Details)
	case isPatch && patch.Kind == types.ApplyYAMLPatchType && wrongApply.MatchString(status.Message):
		return dest.invalidApply(wrongApply.ReplaceAllString(status.Message, ""))
	case isPatch && patch.Kind == types.ApplyYAMLPatchType && strings.HasPrefix(status.Message, wrongApplyKind) && dest.Subresource == "":
		return apierror.BadRequest("the patch is not for %s: with PATCH_TYPE_APPLY it must have apiVersion %q and kind %q",
			dest.Resource.GroupResource(), dest.Resource.GroupVersion(), dest.Resource.Kind)
	case isPatch && patch.Kind == types.StrategicMergePatchType && status.Reason == metav1.StatusReasonUnsupportedMediaType:
		status.Message = fmt.Sprintf("%s do not support strategic merge patches, use PATCH_TYPE_MERGE, PATCH_TYPE_JSON or PATCH_TYPE_APPLY: %s",
			dest.Resource.GroupResource(), status.Message)
		return &apierrors.StatusError{ErrStatus: status}
	case isPatch && patch.Kind == types.JSONPatchType && status.Message == wordlessJSONPatch:
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

// unreadableVersion matches the whole message about a change whose result has a resource version that is no
// number. The API server reports it as an internal error.
var unreadableVersion = regexp.MustCompile(`^strconv\.ParseUint: parsing (".*"): (?:invalid syntax|value out of range)$`)

// wrongApply matches the prefix of the message about an apply patch that does not match the type of
// the object. The API server reports it as an internal error.
var wrongApply = regexp.MustCompile(`^failed to create typed patch object \([^)]*\): (errors:\s*)?`)

// goValue matches a value in that message.
var goValue = regexp.MustCompile(`&(?:value\.valueUnstructured)?\{(?:Value:)?(.*)\}`)

// invalid returns an error like the API server's for an invalid object. The causes are those of
// details, which may be nil.
func (t Target) invalid(description string, details *metav1.StatusDetails) error {
	kind := t.Resource.GroupVersionKind().GroupKind()
	failed := apierrors.NewInvalid(kind, t.Name, nil)
	failed.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s", kind, t.Name, description)
	if details != nil {
		failed.ErrStatus.Details.Causes = details.Causes
		failed.ErrStatus.Details.RetryAfterSeconds = details.RetryAfterSeconds
	}
	return failed
}

// invalidApply returns the error about an apply patch with invalid fields. Each line of what is
// about one field.
func (t Target) invalidApply(description string) error {
	details := &metav1.StatusDetails{}
	var all []string
	for line := range strings.Lines(description) {
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
