package object

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

func TestMasked_HasTheHeadAndThePathsOfTheMask(t *testing.T) {
	state := traits{Namespace: "default", Name: "a", UID: "u", Version: "7", Labels: map[string]string{"app": "web"}, Node: "node-1"}
	widget := decodeOne(t, &Codec{Kind: widgetKind()}, testobjects.JSONBody(t, map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "default", "name": "a", "uid": "u", "resourceVersion": "7", "labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"nodeName": "node-1", "size": 3},
	}))
	for name, object := range map[string]*Object{"a pod": podObject(t, state), "a widget": widget} {
		t.Run(name, func(t *testing.T) {
			masked := object.Masked(fieldsOf(t, "spec.nodeName", "metadata.labels.app", "status.phase"))
			if !reflect.DeepEqual(headOf(masked), headOf(object)) || !masked.HasContent() {
				t.Errorf("the head is %v, want %v", headOf(masked), headOf(object))
			}
			text, err := masked.JSON()
			const want = `{"metadata":{"labels":{"app":"web"}},"spec":{"nodeName":"node-1"}}`
			if err != nil || string(text) != want {
				t.Errorf("the JSON is %s, error %v, want %s", text, err, want)
			}
			message, ok := masked.Protobuf()
			if whole, isProtobuf := object.Protobuf(); ok != isProtobuf || ok && len(message) >= len(whole) {
				t.Errorf("the message has %d bytes of %d, %t", len(message), len(whole), ok)
			}
		})
	}
}

func TestMasked_HeadOnlyObjectHasNoContent(t *testing.T) {
	fields := fieldsOf(t, "spec")
	object := pod(t, "a", 1)
	if masked := object.HeadOnly().Masked(fields); masked.HasContent() {
		t.Error("a head has content under a mask")
	}
	if object.Masked(nil) != object {
		t.Error("without a mask the object is another one")
	}
}

func TestMasked_IsCachedInTheWindow(t *testing.T) {
	object := pod(t, "a", 1)
	same := func(path string) bool {
		one, other := object.Masked(fieldsOf(t, path)), object.Masked(fieldsOf(t, path))
		return one == other
	}
	if same("spec") {
		t.Error("an object outside the window caches masked objects")
	}
	object.CacheEncodings()
	for i := range maxMasked + 1 {
		if kept := same(fmt.Sprint("spec", i)); kept != (i < maxMasked) {
			t.Errorf("the masked object of mask %d is cached: %t", i, kept)
		}
	}
	made := 0
	for range 2 {
		object.Masked(fieldsOf(t, "spec0")).Encoded(Encoding{0, func(*Object) []byte { made++; return nil }})
	}
	if made != 1 {
		t.Errorf("it was encoded %d times", made)
	}
	held := object.Masked(fieldsOf(t, "spec0"))
	object.DropEncodings()
	if held.cachedEncodings(0) != nil {
		t.Error("a masked object retains its encodings after the window has released them")
	}
	if same("spec0") {
		t.Error("an object that has left the window caches masked objects")
	}
}

func TestObject_CachesFilterResultsInTheWindow(t *testing.T) {
	object := podObject(t, traits{Namespace: "default", Name: "a", Version: "1", Node: "n1"})
	object.CacheEncodings()
	filters := []*filter.Filter{filterOf(t, `object.spec.nodeName == 'n1'`), filterOf(t, `object.spec.nodeName == 'n2'`), filterOf(t, `object.x == 1`)}
	for range 2 {
		for i, f := range filters {
			matches, err := object.PassesFilter(f, nil)
			if matches != (i == 0) || (err != nil) != (i == 2) {
				t.Errorf("%s: %v, %v", f, matches, err)
			}
		}
	}
	if kept := object.encodings.Load().filterResults[filters[0].Number()%maxFilterResults].Load(); kept == nil || kept.filter != filters[0] || !kept.matches {
		t.Errorf("cached %v", kept)
	}
}

func filterOf(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(text)
	must(t, err)
	return f
}
