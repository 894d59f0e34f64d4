package change

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

func TestClarified_NamesObjectAndFields(t *testing.T) {
	widget := Target{Resource: objecttest.Widgets, Namespace: "default", Name: "a"}
	ofType := func(kind types.PatchType) Change { return Patch{Kind: kind} }
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Field: "patch"}},
		}}}
	}
	for name, test := range map[string]struct {
		err     error
		change  Change
		code    int32
		message string
		fields  string
	}{
		"an object without a name": {
			answer(422, "Invalid", ` "" is invalid: patch: Invalid value: "x": wrong`), ofType(types.MergePatchType),
			422, `Widget.example.com "a" is invalid: patch: Invalid value: "x": wrong`, "patch",
		},
		"an apply patch with a wrong type": {
			answer(500, "", "failed to create typed patch object (default/a; example.com/v1, Kind=Widget): .spec.size: expected numeric (int or float), got string"),
			ofType(types.ApplyYAMLPatchType),
			422, `Widget.example.com "a" is invalid: .spec.size: expected numeric (int or float), got string`, "spec.size",
		},
		"an apply patch with several wrong types": {
			answer(500, "", "failed to create typed patch object (default/a; example.com/v1, Kind=Widget): errors:\n  .a: expected list, got &{x}\n  .b.c: expected string, got &value.valueUnstructured{Value:1}"),
			ofType(types.ApplyYAMLPatchType),
			422, `Widget.example.com "a" is invalid: .a: expected list, got x; .b.c: expected string, got 1`, "a b.c",
		},
		"an apply patch without a kind": {
			answer(400, "BadRequest", "invalid object type: /, Kind="), ofType(types.ApplyYAMLPatchType),
			400, `the patch is not for widgets.example.com: with PATCH_TYPE_APPLY it must have apiVersion "example.com/v1" and kind "Widget"`, "",
		},
		"a JSON patch that cannot be applied": {
			answer(422, "Invalid", wordlessJSONPatch), ofType(types.JSONPatchType),
			422, `Widget.example.com "a" is invalid: the JSON patch cannot be applied: a "test" failed, or a path is not there; read the object again and create the patch for its current state`, "",
		},
		"a strategic merge patch": {
			answer(415, "UnsupportedMediaType", "x"), ofType(types.StrategicMergePatchType),
			415, "widgets.example.com do not support strategic merge patches, use PATCH_TYPE_MERGE, PATCH_TYPE_JSON or PATCH_TYPE_APPLY: x", "patch",
		},
		"a resource version that is no number": {
			answer(500, "", `strconv.ParseUint: parsing "A\"A": invalid syntax`), Update{},
			400, `the resourceVersion is "A\"A", which no object has: give the resource version of a response`, "",
		},
		"an error of the API server's own": {
			answer(500, "InternalError", "failed to create typed live object: x"), ofType(types.ApplyYAMLPatchType),
			500, "failed to create typed live object: x", "patch",
		},
		"the same words about another change": {
			answer(500, "", "failed to create typed patch object (x): .a: y"), Create{},
			500, "failed to create typed patch object (x): .a: y", "patch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var clear *apierrors.StatusError
			if err := clarified(test.err, widget, test.change); !errors.As(err, &clear) {
				t.Fatal(err)
			}
			status := clear.Status()
			if status.Code != test.code || status.Message != test.message {
				t.Errorf("returned %d: %q, want %d: %q", status.Code, status.Message, test.code, test.message)
			}
			var fields []string
			if status.Details != nil {
				for _, cause := range status.Details.Causes {
					fields = append(fields, cause.Field)
				}
			}
			if got := strings.Join(fields, " "); got != test.fields {
				t.Errorf("the causes name %q, want %q", got, test.fields)
			}
		})
	}
}
