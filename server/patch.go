package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// defaultFieldManager owns the fields of a change whose caller names no other.
const defaultFieldManager = "kubeconnect"

// patch is a patch request that has been understood.
type patch struct {
	resource    informerhub.Resource
	namespace   string
	name        string
	subresource string
	kind        types.PatchType
	body        []byte
	options     metav1.PatchOptions
}

// Patch implements kubeconnect.v1.ResourceService.
func (s *resources) Patch(ctx context.Context, request *kubeconnectv1.PatchRequest) (*kubeconnectv1.PatchResponse, error) {
	if err := refuse(laterField{"preconditions", request.GetPreconditions() != nil}); err != nil {
		return nil, err
	}
	if err := checkEncoding(request.GetEncoding()); err != nil {
		return nil, err
	}
	p, err := s.readPatch(ctx, request)
	if err != nil {
		return nil, err
	}
	done, err := writer{s.clients.For(identityFrom(ctx))}.patch(ctx, p)
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.PatchResponse{
		Kind:     kindOf(done.object, p.resource),
		Object:   encodeObject(done.object, request.GetEncoding()),
		Warnings: done.warnings,
		Created:  done.created,
	}, nil
}

// kindOf names what an answer is: mostly the resource's own kind, but a
// subresource may answer another.
func kindOf(object *informerhub.Object, resource informerhub.Resource) *kubeconnectv1.ResourceKind {
	kind := encodeKind(resource)
	answered := object.Kind()
	kind.Group, kind.Version, kind.Kind = answered.Group, answered.Version, answered.Kind
	kind.ProtobufType = protobufType(answered)
	return kind
}

func (s *resources) readPatch(ctx context.Context, request *kubeconnectv1.PatchRequest) (patch, error) {
	p := patch{
		namespace:   request.GetNamespace(),
		name:        request.GetName(),
		subresource: request.GetSubresource(),
	}
	var err error
	if p.kind, err = patchType(request.GetType()); err != nil {
		return patch{}, err
	}
	if p.body, err = patchBody(request); err != nil {
		return patch{}, err
	}
	if p.options, err = patchOptions(request); err != nil {
		return patch{}, err
	}
	if p.resource, err = s.resolve(ctx, request.GetResource()); err != nil {
		return patch{}, err
	}
	return p, errors.Join(checkName(p.resource, p.namespace, p.name), checkSubresource(p.subresource))
}

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
	return "", badRequest("type is required: PATCH_TYPE_JSON, PATCH_TYPE_MERGE, PATCH_TYPE_STRATEGIC_MERGE or PATCH_TYPE_APPLY")
}

func patchBody(request *kubeconnectv1.PatchRequest) ([]byte, error) {
	switch body := request.GetBody().(type) {
	case *kubeconnectv1.PatchRequest_Value:
		text, err := body.Value.MarshalJSON()
		if err != nil {
			return nil, badRequest("value is not JSON: %v", err)
		}
		return escapeControls(text), nil
	case *kubeconnectv1.PatchRequest_Data:
		if request.GetType() == kubeconnectv1.PatchType_PATCH_TYPE_APPLY {
			return body.Data, nil // YAML too; the API server reads it
		}
		var ignored any
		if err := json.Unmarshal(body.Data, &ignored); err != nil {
			return nil, badRequest("data is not JSON: %v", err)
		}
		return body.Data, nil
	}
	return nil, badRequest("body is required: give the patch as value (JSON) or data (bytes of JSON, or of YAML for PATCH_TYPE_APPLY)")
}

// escapeControls escapes the control characters that JSON may hold as they are and
// YAML may not: the API server reads a PATCH_TYPE_APPLY as YAML.
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

func isC1Control(r rune) bool { return r >= 0x7f && r <= 0x9f }

func patchOptions(request *kubeconnectv1.PatchRequest) (metav1.PatchOptions, error) {
	options := metav1.PatchOptions{FieldManager: request.GetFieldManager()}
	apply := request.GetType() == kubeconnectv1.PatchType_PATCH_TYPE_APPLY
	switch {
	case apply && options.FieldManager == "":
		return options, badRequest("field_manager is required for PATCH_TYPE_APPLY: it will own the fields of the patch")
	case !apply && request.GetForce():
		return options, badRequest("force is for PATCH_TYPE_APPLY only")
	case options.FieldManager == "":
		options.FieldManager = defaultFieldManager
	}
	if apply {
		force := request.GetForce()
		options.Force = &force
	}
	if request.GetDryRun() {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var err error
	options.FieldValidation, err = fieldValidation(request.GetFieldValidation())
	return options, err
}

func fieldValidation(level kubeconnectv1.FieldValidation) (string, error) {
	switch level {
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_UNSPECIFIED:
		return "", nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_IGNORE:
		return metav1.FieldValidationIgnore, nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_WARN:
		return metav1.FieldValidationWarn, nil
	case kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT:
		return metav1.FieldValidationStrict, nil
	}
	return "", badRequest("field_validation %d: this service knows IGNORE, WARN and STRICT", level)
}
