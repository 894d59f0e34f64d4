package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// Patch implements kubeconnect.v1.ResourceService.
func (s *resources) Patch(ctx context.Context, request *kubeconnectv1.PatchRequest) (*kubeconnectv1.PatchResponse, error) {
	if err := checkEncoding(request.GetEncoding()); err != nil {
		return nil, err
	}
	change, err := readPatch(request)
	if err != nil {
		return nil, err
	}
	done, err := onResource(ctx, s, request.GetResource(), func(resource informerhub.Resource) (answered, error) {
		to, err := existing(resource, request)
		if err != nil {
			return answered{}, err
		}
		done, err := s.change(ctx, to, change, request.GetEncoding())
		return done, asPrecondition(err, to, request.GetPreconditions())
	})
	if err != nil {
		return nil, err
	}
	return &kubeconnectv1.PatchResponse{Kind: done.kind, Object: done.object, Warnings: done.warnings, Created: done.created}, nil
}

func readPatch(request *kubeconnectv1.PatchRequest) (p patch, err error) {
	if p.kind, err = patchType(request.GetType()); err != nil {
		return patch{}, err
	}
	if p.body, err = patchBody(request); err != nil {
		return patch{}, err
	}
	if p.options, err = patchOptions(request); err != nil {
		return patch{}, err
	}
	return p.under(preconditions(request.GetPreconditions()))
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
	options.DryRun = dryRun(request.GetDryRun())
	var err error
	options.FieldValidation, err = fieldValidation(request.GetFieldValidation())
	return options, err
}
