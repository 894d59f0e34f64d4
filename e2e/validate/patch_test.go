package validate

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func withJSON(event *kubeconnectv1.Event, text string) *kubeconnectv1.Event {
	event.Object.Content = &kubeconnectv1.Object_Json{Json: []byte(text)}
	return event
}

func asPatch(event *kubeconnectv1.Event, format kubeconnectv1.PatchFormat) *kubeconnectv1.Event {
	event.PatchFormat = format
	return event
}

const (
	merge      = kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE
	operations = kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON
)

func TestModel_AppliesPatchesToHeldObjects(t *testing.T) {
	var model Model
	for _, event := range []*kubeconnectv1.Event{reset(), withJSON(object(added, "a", "1"), `{"a":{"b":1,"c":9007199254740993}}`), synced("1")} {
		model.Apply(event)
	}
	for format, patch := range map[kubeconnectv1.PatchFormat]string{
		merge:      `{"a":{"b":null},"d":[null]}`,
		operations: `[{"op":"remove","path":"/a/b"},{"op":"add","path":"/d","value":[null]}]`,
	} {
		complete := model.Whole(asPatch(withJSON(object(modified, "a", "2"), patch), format))
		if got := string(complete.GetObject().GetJson()); complete.GetPatchFormat() != noPatch || got != `{"a":{"c":9007199254740993},"d":[null]}` {
			t.Errorf("patch of format %s: object %s, patch format %s", format, got, complete.GetPatchFormat())
		}
	}
	structured := object(modified, "a", "2")
	structured.Object.Content = &kubeconnectv1.Object_Struct{Struct: &structpb.Struct{}}
	another := withJSON(object(modified, "a", "2"), `{}`)
	another.Object.Uid = "another"
	for name, event := range map[string]*kubeconnectv1.Event{
		"to a missing object": withJSON(object(modified, "b", "2"), `{}`),
		"to another object":   another,
		"to another encoding": structured,
		"in an ADDED":         withJSON(object(added, "a", "2"), `{}`),
		"that is not JSON":    withJSON(object(modified, "a", "2"), `{`),
		"without content":     object(modified, "a", "2"),
	} {
		if model.Whole(asPatch(event, merge)).GetPatchFormat() != merge {
			t.Errorf("a patch %s is applied", name)
		}
	}
	for name, patch := range map[string]string{
		"that remove a missing member":  `[{"op":"remove","path":"/b"}]`,
		"that replace a missing member": `[{"op":"replace","path":"/b/c","value":1}]`,
		"of another patch format":       `{"a":null}`,
	} {
		if model.Whole(asPatch(withJSON(object(modified, "a", "2"), patch), operations)).GetPatchFormat() != operations {
			t.Errorf("operations %s are applied", name)
		}
	}
}
