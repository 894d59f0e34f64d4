package object

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

func TestAtVersion_ChangesTheVersionAlone(t *testing.T) {
	state := traits{Namespace: "default", Name: "a", UID: "u", Version: "7", Labels: map[string]string{"app": "web"}, Node: "node-1"}
	widget := decodeOne(t, &Codec{Kind: widgetKind()}, testobjects.JSONBody(t, map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "default", "name": "a", "uid": "u", "resourceVersion": "7", "labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"resourceVersion": "7"},
	}))
	for name, object := range map[string]*Object{
		"a pod": podObject(t, state), "a widget": widget, "the metadata of a pod": podObject(t, state).Masked(fieldsOf(t, "metadata")),
	} {
		t.Run(name, func(t *testing.T) {
			before, err := object.JSON()
			if err != nil {
				t.Fatal(err)
			}
			changed := object.AtVersion("1234")
			after, err := changed.JSON()
			want := strings.Replace(string(before), `"resourceVersion":"7"`, `"resourceVersion":"1234"`, 1)
			if err != nil || !equalJSON(t, string(after), want) || changed.ResourceVersion() != "1234" {
				t.Errorf("the object is %s at %s, error %v; want %s", after, changed.ResourceVersion(), err, want)
			}
			if again, _ := object.JSON(); string(again) != string(before) {
				t.Error("the object itself has changed")
			}
		})
	}
}

func TestAtVersion_OfAHeadHasItsName(t *testing.T) {
	for name, object := range map[string]*Object{
		"a pod":    podObject(t, traits{Namespace: "default", Name: "a", UID: "u", Version: "7"}).HeadOnly(),
		"a widget": (&Object{kind: pointer(widgetKind())}).named("default", "a").HeadOnly(),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := object.AtVersion("1234").JSON()
			if err != nil {
				t.Fatal(err)
			}
			var decoded struct {
				Kind     string
				Metadata struct{ Namespace, Name, ResourceVersion string }
			}
			if err := json.Unmarshal(text, &decoded); err != nil {
				t.Fatal(err)
			}
			if m := decoded.Metadata; decoded.Kind == "" || m.Namespace != "default" || m.Name != "a" || m.ResourceVersion != "1234" {
				t.Errorf("the object is %s", text)
			}
		})
	}
}

func pointer[T any](value T) *T { return &value }

// named returns the object with a name.
func (o *Object) named(namespace, name string) *Object {
	o.namespace, o.name = namespace, name
	return o
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	normal := func(text string) string {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		encoded, _ := json.Marshal(value)
		return string(encoded)
	}
	return normal(a) == normal(b)
}
