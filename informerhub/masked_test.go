package informerhub

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

func fieldsOf(t testing.TB, paths ...string) *mask.Mask {
	t.Helper()
	fields, err := mask.Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestAMaskedObjectHasItsHeadAndWhatIsUnderTheMask(t *testing.T) {
	state := traits{"default", "a", "u", "7", map[string]string{"app": "web"}, "node-1", nil}
	widget := decodeOne(t, &codec{kind: widgetKind()}, jsonBody(t, map[string]any{
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

func TestWhatHasNoContentHasNoneUnderAMask(t *testing.T) {
	fields := fieldsOf(t, "spec")
	object := pod(t, "a", 1)
	if masked := headOnly(object).Masked(fields); masked.HasContent() {
		t.Error("a head has content under a mask")
	}
	if object.Masked(nil) != object {
		t.Error("without a mask the object is another one")
	}
}

func TestAnObjectInTheWindowIsMaskedOnceForAll(t *testing.T) {
	object := pod(t, "a", 1)
	same := func(path string) bool {
		one, other := object.Masked(fieldsOf(t, path)), object.Masked(fieldsOf(t, path))
		return one == other
	}
	if same("spec") {
		t.Error("an object outside the window caches masked objects")
	}
	cacheEncodings(object)
	for i := range maxMasked + 1 {
		if kept := same(fmt.Sprint("spec", i)); kept != (i < maxMasked) {
			t.Errorf("the masked object of mask %d is cached: %t", i, kept)
		}
	}
	made := 0
	for range 2 {
		object.Masked(fieldsOf(t, "spec0")).Encoded(0, func(*Object) []byte { made++; return nil })
	}
	if made != 1 {
		t.Errorf("it was encoded %d times", made)
	}
	held := object.Masked(fieldsOf(t, "spec0"))
	dropEncodings(object)
	if held.cachedEncodings() != nil {
		t.Error("a masked object retains its encodings after the window has released them")
	}
	if same("spec0") {
		t.Error("an object that has left the window caches masked objects")
	}
}

func TestAMaskedWatchIsSilentAboutOtherChanges(t *testing.T) {
	c := podCache(1 << 20)
	at := func(version, node, app string) *Object {
		return podObject(t, traits{"default", "a", "u", version, map[string]string{"app": app}, node, nil})
	}
	must(t, c.Replace(items(at("1", "node-1", "web")), "1"))
	r := newReader(t, c, Query{Fields: fieldsOf(t, "spec.nodeName"), LabelSelector: "app!=gone"})
	r.drain(t)
	must(t, c.Update(at("2", "node-1", "db")))
	must(t, c.Update(at("3", "node-2", "db")))
	must(t, c.Update(at("4", "node-2", "gone")))
	must(t, c.Update(at("5", "node-2", "web")))
	must(t, c.Update(at("6", "node-2", "db")))
	checkSame(t, []string{
		"MODIFIED default/a@3 at 3", "DELETED default/a@3 at 4", "ADDED default/a@5 at 5",
	}, r.drain(t))
	if r.behind.Version != "6" {
		t.Errorf("the position is %s", r.behind.Version)
	}
	checkSame(t, []string{`default/a u {"spec":{"nodeName":"node-2"}}`}, r.holds())
}

func TestSelectionsWithOtherMasksAreOthers(t *testing.T) {
	c := podCache(1 << 20)
	keys := make(map[string]bool)
	for _, paths := range [][]string{nil, {"spec"}, {"metadata"}, {"spec", "metadata"}, {"metadata", "spec"}} {
		sel, err := c.Select(context.Background(), Query{Fields: fieldsOf(t, paths...)})
		must(t, err)
		keys[sel.key] = true
		if wanted := fieldsOf(t, paths...).String(); !strings.Contains(sel.key, fmt.Sprintf("%q", wanted)) {
			t.Errorf("the key %s does not have the mask %q", sel.key, wanted)
		}
	}
	if len(keys) != 4 {
		t.Errorf("%d selections have different keys, want 4", len(keys))
	}
}
