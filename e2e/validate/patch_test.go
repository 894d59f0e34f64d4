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

func asPatch(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	event.Patch = true
	return event
}

func TestAPatchMakesTheWholeOfWhatIsHeld(t *testing.T) {
	var model Model
	for _, event := range []*kubeconnectv1.Event{reset(), withJSON(object(added, "a", "1"), `{"a":{"b":1,"c":9007199254740993}}`), synced("1")} {
		model.Apply(event)
	}
	whole := model.Whole(asPatch(withJSON(object(modified, "a", "2"), `{"a":{"b":null},"d":[null]}`)))
	if got := string(whole.GetObject().GetJson()); whole.GetPatch() || got != `{"a":{"c":9007199254740993},"d":[null]}` {
		t.Errorf("is %s, a patch: %t", got, whole.GetPatch())
	}
	structured := object(modified, "a", "2")
	structured.Object.Content = &kubeconnectv1.Object_Struct{Struct: &structpb.Struct{}}
	another := withJSON(object(modified, "a", "2"), `{}`)
	another.Object.Uid = "another"
	for name, event := range map[string]*kubeconnectv1.Event{
		"to what is not held":    withJSON(object(modified, "b", "2"), `{}`),
		"to another object":      another,
		"to another form":        structured,
		"of what is new":         withJSON(object(added, "a", "2"), `{}`),
		"that is no JSON at all": withJSON(object(modified, "a", "2"), `{`),
		"without content":        object(modified, "a", "2"),
	} {
		if !model.Whole(asPatch(event)).GetPatch() {
			t.Errorf("a patch %s is applied", name)
		}
	}
}
