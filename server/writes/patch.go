package writes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// parsePatch parses a patch, with its preconditions. It can take long, so it is called in a processor slot.
func parsePatch(request *kubeconnectv1.PatchRequest) (p change.Patch, err error) {
	if p.Kind, err = patchType(request.GetType()); err != nil {
		return change.Patch{}, err
	}
	if p.Body, err = patchBody(request); err != nil {
		return change.Patch{}, err
	}
	if p.Options, err = patchOptions(request); err != nil {
		return change.Patch{}, err
	}
	return p.WithPreconditions(preconditions(request.GetPreconditions()))
}

// patchType returns the content type by which the API server recognizes a patch.
func patchType(kind kubeconnectv1.PatchType) (types.PatchType, error) {
	switch kind {
	case kubeconnectv1.PatchType_PATCH_TYPE_JSON:
		return types.JSONPatchType, nil
	case kubeconnectv1.PatchType_PATCH_TYPE_MERGE:
		return types.MergePatchType, nil
	case kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE:
		return types.StrategicMergePatchType, nil
	case kubeconnectv1.PatchType_PATCH_TYPE_APPLY:
		return types.ApplyYAMLPatchType, nil
	}
	return "", apierror.BadRequest("type is required: PATCH_TYPE_JSON, PATCH_TYPE_MERGE, PATCH_TYPE_STRATEGIC_MERGE or PATCH_TYPE_APPLY")
}

// patchBody returns the bytes that are sent to the API server. Without preconditions the bytes of data are sent unchanged, so
// that the API server itself reports duplicate and unknown fields. A value has no bytes of its own, and is sent as JSON.
func patchBody(request *kubeconnectv1.PatchRequest) ([]byte, error) {
	switch body := request.GetBody().(type) {
	case *kubeconnectv1.PatchRequest_Value:
		// A server-side apply is parsed as YAML, which does not allow all characters of JSON.
		text, err := body.Value.MarshalJSON()
		if err != nil {
			return nil, apierror.BadRequest("value is not JSON: %v", err)
		}
		return escapeControls(text), checkPatchBody(request.GetType(), body.Value.AsInterface())
	case *kubeconnectv1.PatchRequest_Data:
		if request.GetType() == kubeconnectv1.PatchType_PATCH_TYPE_APPLY {
			return body.Data, change.CheckData(body.Data) // YAML is allowed too; the API server parses it
		}
		// The values are counted before they are decoded: each can take many times its bytes.
		if err := bounds.CheckJSONValues("data", body.Data); err != nil {
			return nil, err
		}
		var value any
		if err := json.Unmarshal(body.Data, &value); err != nil {
			return nil, apierror.BadRequest("data is not JSON: %v", err)
		}
		return body.Data, checkPatchBody(request.GetType(), value)
	}
	return nil, apierror.BadRequest("body is required: give the patch as value (JSON) or data (bytes of JSON, or of YAML for PATCH_TYPE_APPLY)")
}

// checkPatchBody rejects a body that is not a patch of its type. The API server's own errors name
// the Go types that it decodes patches into, or it does not report the fault at all.
func checkPatchBody(kind kubeconnectv1.PatchType, body any) error {
	operations, isList := body.([]any)
	_, isObject := body.(map[string]any)
	switch {
	case kind == kubeconnectv1.PatchType_PATCH_TYPE_JSON && !isList:
		return apierror.BadRequest("the patch is %s: PATCH_TYPE_JSON takes a list of operations", jsonType(body))
	case kind == kubeconnectv1.PatchType_PATCH_TYPE_JSON:
		return checkOperations(operations)
	case !isObject:
		return apierror.BadRequest("the patch is %s: %s takes an object", jsonType(body), kind)
	}
	return nil
}

// operationNames are the operations of a JSON patch, with the members that each requires. The value of an operation can be
// any JSON, so its absence is for the API server to report.
var operationNames = map[any][]string{
	"add": {"path"}, "remove": {"path"}, "replace": {"path"}, "test": {"path"}, "move": {"path", "from"}, "copy": {"path", "from"},
}

// checkOperations rejects operations of a JSON patch that the API server could not apply to any object.
func checkOperations(operations []any) error {
	for i, operation := range operations {
		members, ok := operation.(map[string]any)
		if !ok {
			return apierror.BadRequest("operation %d of the patch is %s: it must be an object with op and path", i, jsonType(operation))
		}
		name, _ := members["op"].(string)
		needed, ok := operationNames[name]
		if !ok {
			return apierror.BadRequest("operation %d of the patch has op %q: use add, remove, replace, move, copy or test", i, name)
		}
		for _, member := range needed {
			path, ok := members[member].(string)
			if !ok || path != "" && path[0] != '/' {
				return apierror.BadRequest("operation %d of the patch has %s %q: give one that begins with /, such as /spec/replicas", i, member, path)
			}
		}
	}
	return nil
}

// jsonType names the type of a JSON value, as encoding/json and structpb decode it.
func jsonType(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

// escapeControls escapes the control characters that JSON allows unescaped and YAML does not,
// because the API server parses a PATCH_TYPE_APPLY as YAML.
func escapeControls(text []byte) []byte {
	if !bytes.ContainsFunc(text, isC1Control) {
		return text
	}
	var escaped []byte
	for _, r := range string(text) {
		if isC1Control(r) {
			escaped = fmt.Appendf(escaped, "\\u%04x", r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// isC1Control reports whether a character is a control character above ASCII, or DEL.
func isC1Control(r rune) bool { return r >= 0x7f && r <= 0x9f }

// patchOptions returns the options of a patch. Server-side apply needs a field manager of the caller's own, because it removes the fields
// that this manager has applied before and that the patch no longer has. Any other patch has a default manager.
func patchOptions(request *kubeconnectv1.PatchRequest) (metav1.PatchOptions, error) {
	options := metav1.PatchOptions{FieldManager: request.GetFieldManager()}
	apply := request.GetType() == kubeconnectv1.PatchType_PATCH_TYPE_APPLY
	switch {
	case apply && options.FieldManager == "":
		return options, apierror.BadRequest("field_manager is required for PATCH_TYPE_APPLY: it will own the fields of the patch")
	case !apply && request.GetForce():
		return options, apierror.BadRequest("force is for PATCH_TYPE_APPLY only")
	case options.FieldManager == "":
		options.FieldManager = defaultFieldManager
	}
	if apply {
		force := request.GetForce()
		options.Force = &force
	}
	options.DryRun = dryRun(request.GetDryRun())
	var err error
	options.FieldValidation, err = fieldValidation(request.GetFieldValidation())
	return options, err
}
