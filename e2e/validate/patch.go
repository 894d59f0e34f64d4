package validate

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// noPatch is the patch format of an event with a complete object.
const noPatch = kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED

// Whole returns an event as it would have been without a patch: with the object that results from
// applying the patch to the client's object. An event whose patch cannot be applied is returned
// unchanged; it violates a rule.
func (m *Model) Whole(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	held, ok := m.Objects[KeyOf(event.GetObject())]
	if event.GetPatchFormat() == noPatch || !ok || held.GetUid() != event.GetObject().GetUid() {
		return event
	}
	complete := proto.CloneOf(event)
	if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_MODIFIED || !applyTo(held, complete.GetObject(), event.GetPatchFormat()) {
		return event
	}
	complete.PatchFormat = noPatch
	return complete
}

var patchAppliesToState = rule{
	guarantee: Complete,
	name:      "a patch applies to the client's object",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		if event.GetPatchFormat() != noPatch {
			return "it cannot be applied"
		}
		return ""
	},
}

// applyTo replaces the content of object, which is a patch, with the result of applying it to held.
// It returns false if the patch does not apply to held.
func applyTo(held, object *kubeconnectv1.Object, format kubeconnectv1.PatchFormat) bool {
	switch patch := object.GetContent().(type) {
	case *kubeconnectv1.Object_Struct:
		if held.GetStruct() == nil || format != kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE {
			return false
		}
		merged, err := structpb.NewStruct(mergePatch(held.GetStruct().AsMap(), patch.Struct.AsMap()).(map[string]any))
		object.Content = &kubeconnectv1.Object_Struct{Struct: merged}
		return err == nil
	case *kubeconnectv1.Object_Json:
		apply := mergeJSON
		if format == kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON {
			apply = operateOn
		}
		text, err := apply(held.GetJson(), patch.Json)
		object.Content = &kubeconnectv1.Object_Json{Json: text}
		return err == nil
	}
	return false
}

// operateOn applies a JSON patch to a JSON text.
func operateOn(text, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return operations.Apply(text)
}

// mergeJSON applies a merge patch to a JSON text.
func mergeJSON(text, patch []byte) ([]byte, error) {
	was, err := decoded(text)
	if err != nil {
		return nil, err
	}
	change, err := decoded(patch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(mergePatch(was, change))
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// mergePatch implements MergePatch of RFC 7386, section 2.
func mergePatch(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = make(map[string]any)
	}
	for name, value := range members {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergePatch(merged[name], value)
		}
	}
	return merged
}
