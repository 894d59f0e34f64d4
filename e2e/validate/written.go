package validate

import (
	"encoding/json"
	"reflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var contentIsAsWritten = check{
	guarantee: Complete,
	name:      "the content is as it was written",
	broken: func(j *judge) string {
		if j.evidence.Writes == nil || j.event.GetObject() == nil {
			return ""
		}
		return contentDiffers(j.evidence.Writes, j.recording.Selection.View, j.event.GetObject())
	},
}

// contentDiffers returns a problem if the content of an object is not the part of what was written
// that the view shows. Content in another encoding than JSON and structs is not judged.
func contentDiffers(writes *Writes, view View, object *kubeconnectv1.Object) string {
	state := writes.find(KeyOf(object), object.GetUid(), object.GetResourceVersion())
	content, readable := contentOf(object)
	if state == nil || state.Content == nil || !readable || reflect.DeepEqual(content, any(view.show(state.Content))) {
		return ""
	}
	return "the content differs"
}

// contentOf returns an object's content as decoded by encoding/json; false if it is in another
// encoding.
func contentOf(object *kubeconnectv1.Object) (content any, readable bool) {
	switch {
	case object.GetStruct() != nil:
		return object.GetStruct().AsMap(), true
	case object.GetJson() != nil:
		err := json.Unmarshal(object.GetJson(), &content)
		return content, err == nil
	}
	return nil, false
}

// normal returns a value after an encoding and decoding by encoding/json.
func normal(value any) (read any) {
	text, _ := json.Marshal(value)
	_ = json.Unmarshal(text, &read)
	return read
}
