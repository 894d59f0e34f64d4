package validate

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Whole is an event as it would have come without a patch: with the object that the patch
// makes of the one held. An event whose patch cannot be applied stays as it is, and breaks
// a rule.
func (m *Model) Whole(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	held, ok := m.Objects[KeyOf(event.GetObject())]
	if !event.GetPatch() || !ok || held.GetUid() != event.GetObject().GetUid() {
		return event
	}
	whole := proto.CloneOf(event)
	if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_MODIFIED || !applyTo(held, whole.GetObject()) {
		return event
	}
	whole.Patch = false
	return whole
}

var patchIsToWhatIsHeld = rule{
	guarantee: Complete,
	name:      "a patch is to what the caller holds",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		if event.GetPatch() {
			return "it cannot be applied"
		}
		return ""
	},
}

// applyTo makes of an object, whose content is a patch, the whole one; false if it is
// a patch to something else than what is held.
func applyTo(held, object *kubeconnectv1.Object) bool {
	switch patch := object.GetContent().(type) {
	case *kubeconnectv1.Object_Struct:
		if held.GetStruct() == nil {
			return false
		}
		made, err := structpb.NewStruct(mergePatch(held.GetStruct().AsMap(), patch.Struct.AsMap()).(map[string]any))
		object.Content = &kubeconnectv1.Object_Struct{Struct: made}
		return err == nil
	case *kubeconnectv1.Object_Json:
		was, err := decoded(held.GetJson())
		if err != nil {
			return false
		}
		change, err := decoded(patch.Json)
		if err != nil {
			return false
		}
		text, err := json.Marshal(mergePatch(was, change))
		object.Content = &kubeconnectv1.Object_Json{Json: text}
		return err == nil
	}
	return false
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// mergePatch is MergePatch of RFC 7386, section 2.
func mergePatch(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	made, ok := target.(map[string]any)
	if !ok {
		made = make(map[string]any)
	}
	for name, value := range members {
		if value == nil {
			delete(made, name)
		} else {
			made[name] = mergePatch(made[name], value)
		}
	}
	return made
}
