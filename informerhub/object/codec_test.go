package object

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

// TestCodec_ObjectsDoNotShareTheBodysMemory wipes each body after it was read, as client-go does
// when it reads the next one into the same buffer.
func TestCodec_ObjectsDoNotShareTheBodysMemory(t *testing.T) {
	full := traits{Namespace: "some-namespace", Name: "some-name", UID: "some-uid", Version: "7", Labels: map[string]string{"some-label": "some-value"}, Node: "some-node", Owners: []string{"some-owner"}}
	withManaged := testobjects.NewPod(full)
	withManaged.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "someone"}}
	list := &corev1.PodList{Items: []corev1.Pod{*testobjects.NewPod(full), *withManaged}}
	for name, sent := range map[string][]byte{
		"protobuf":                       testobjects.ProtobufBody(t, testobjects.NewPod(full)),
		"protobuf without managedFields": testobjects.ProtobufBody(t, withManaged),
		"a protobuf list":                testobjects.ProtobufBody(t, list),
		"JSON":                           testobjects.JSONOf(t, testobjects.NewPod(full)),
		"JSON without managedFields":     testobjects.JSONOf(t, withManaged),
		"a JSON list":                    testobjects.JSONOf(t, list),
	} {
		for _, keep := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				body := slices.Clone(sent)
				objects := decodeAll(t, &Codec{Kind: pods.GroupVersionKind(), KeepManagedFields: keep}, body)
				clear(body)
				for _, object := range objects {
					if diff := headOf(object); diff.Name != full.Name || diff.UID != full.UID || diff.Labels["some-label"] != "some-value" {
						t.Errorf("the head has changed: %+v", diff)
					}
					if text, err := object.JSON(); err != nil || !bytes.Contains(text, []byte("some-node")) {
						t.Errorf("the content has changed: %s, %v", text, err)
					}
				}
			})
		}
	}
}

func TestReadObject_DoesNotShareTheBodysMemory(t *testing.T) {
	for name, body := range map[string][]byte{
		"protobuf": testobjects.ProtobufBody(t, testobjects.NewPod(traits{Name: "some-name", Version: "7"})),
		"JSON":     testobjects.JSONOf(t, testobjects.NewPod(traits{Name: "some-name", Version: "7"})),
	} {
		t.Run(name, func(t *testing.T) {
			object, err := Read(body)
			if err != nil {
				t.Fatal(err)
			}
			clear(body)
			if object.Name() != "some-name" || object.Kind() != pods.GroupVersionKind() {
				t.Errorf("%s named %q", object.Kind(), object.Name())
			}
		})
	}
}

func TestCodec_DropsManagedFieldsUnlessKept(t *testing.T) {
	pod := testobjects.NewPod(traits{Name: "a", Version: "7", Node: "n"})
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "one"}, {Manager: "two", FieldsV1: metav1.NewFieldsV1(`{"f:x":{}}`)}}
	for name, body := range map[string][]byte{"protobuf": testobjects.ProtobufBody(t, pod), "JSON": testobjects.JSONOf(t, pod)} {
		t.Run(name, func(t *testing.T) {
			kept := decodeOne(t, &Codec{Kind: pods.GroupVersionKind(), KeepManagedFields: true}, body)
			dropped := decodeOne(t, &Codec{Kind: pods.GroupVersionKind()}, body)
			if text := contentOf(t, kept); !strings.Contains(text, "f:x") {
				t.Errorf("kept, but missing in %s", text)
			}
			if text := contentOf(t, dropped); strings.Contains(text, "managedFields") || !strings.Contains(text, `"nodeName":"n"`) {
				t.Errorf("dropped, but the content is %s", text)
			}
			if dropped.Size() >= kept.Size() {
				t.Errorf("dropping them took the size from %d to %d", kept.Size(), dropped.Size())
			}
			if len(dropped.raw) != cap(dropped.raw) && cap(dropped.raw)-len(dropped.raw) > len(dropped.raw)/8 {
				t.Errorf("%d bytes take %d", len(dropped.raw), cap(dropped.raw))
			}
		})
	}
}

func TestCodec_DecodesAStatus(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	for name, decode := range decoders(&Codec{Kind: pods.GroupVersionKind()}) {
		t.Run(name, func(t *testing.T) {
			decoded, err := decode(t, &expired)
			status, ok := decoded.(*metav1.Status)
			if err != nil || !ok || status.Reason != metav1.StatusReasonExpired {
				t.Errorf("read as %#v, %v", decoded, err)
			}
		})
	}
}

func TestCodec_ListHasItsVersionAndContinuation(t *testing.T) {
	remaining := int64(5)
	list := &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: &remaining},
		Items:    []corev1.Pod{*testobjects.NewPod(traits{Name: "a", Version: "1"}), *testobjects.NewPod(traits{Name: "b", Version: "2"})},
	}
	for name, decode := range decoders(&Codec{Kind: pods.GroupVersionKind()}) {
		t.Run(name, func(t *testing.T) {
			decoded, err := decode(t, list)
			if err != nil {
				t.Fatal(err)
			}
			read := decoded.(*List)
			if read.ResourceVersion != "9" || read.Continue != "more" || read.RemainingItemCount == nil || *read.RemainingItemCount != 5 {
				t.Errorf("metadata is %+v", read.ListMeta)
			}
			if got := names(read.Items); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("items are %v", got)
			}
			for _, item := range read.Items {
				if item.Kind() != pods.GroupVersionKind() {
					t.Errorf("an item's kind is %s, want that of the list", item.Kind())
				}
			}
		})
	}
}

func TestCodec_KeepsTheInitialEventsAnnotation(t *testing.T) {
	annotations := map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	bookmark := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9", Annotations: annotations}}
	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}
	for name, decode := range decoders(&Codec{Kind: pods.GroupVersionKind()}) {
		t.Run(name, func(t *testing.T) {
			for _, test := range []struct {
				object *corev1.Pod
				want   bool
			}{{bookmark, true}, {plain, false}} {
				decoded, err := decode(t, test.object)
				if err != nil {
					t.Fatal(err)
				}
				meta := decoded.(*Object).GetObjectMeta()
				if _, ends := meta.GetAnnotations()[metav1.InitialEventsAnnotationKey]; ends != test.want || meta.GetResourceVersion() != "9" {
					t.Errorf("ends the initial events: %v at version %q, want %v at 9", ends, meta.GetResourceVersion(), test.want)
				}
			}
		})
	}
}

func TestCodec_DecodesCustomListsOfAnyName(t *testing.T) {
	body := `{"kind":"Gadgets","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"},"items":` +
		`[ {"metadata":{"name":"a","resourceVersion":"3"}} , {"metadata":{"name":"b","resourceVersion":"4"}}]}`
	objects := decodeAll(t, &Codec{Kind: widgetKind()}, []byte(body))
	if got := names(objects); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("items are %v", got)
	}
}

func TestCodec_ObjectWithItemsIsNoList(t *testing.T) {
	body := `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"3"},"items":[{"metadata":{"name":"b"}}]}`
	if object := decodeOne(t, &Codec{Kind: widgetKind()}, []byte(body)); object.Name() != "a" {
		t.Errorf("read as %q", object.Name())
	}
}

func TestCodec_ListWithNullItemsIsEmpty(t *testing.T) {
	body := `{"kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":null}`
	if objects := decodeAll(t, &Codec{Kind: widgetKind()}, []byte(body)); len(objects) != 0 {
		t.Errorf("items are %v", names(objects))
	}
}

func TestCodec_ItemsWithoutAKindGetThatOfTheList(t *testing.T) {
	for item, want := range map[string]string{
		`{"metadata":{"name":"a"}}`:                                     `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a"}}`,
		`{"kind":"Widget","apiVersion":"x/v1","metadata":{"name":"a"}}`: `{"kind":"Widget","apiVersion":"x/v1","metadata":{"name":"a"}}`,
	} {
		body := `{"kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[` + item + `]}`
		objects := decodeAll(t, &Codec{Kind: widgetKind()}, []byte(body))
		if got := contentOf(t, objects[0]); got != want {
			t.Errorf("%s is stored as %s", item, got)
		}
	}
}

func TestCodec_SkipsUnreadableListItems(t *testing.T) {
	silenceLog(t)
	body := `{"kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},{"metadata":7},{"metadata":{"name" "b"}},{"metadata":{"name":"c"}}]}`
	decoded, err := (&Codec{Kind: widgetKind()}).decodeJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	objects := slices.DeleteFunc(decoded.(*List).Items, func(object *Object) bool { return object.Name() == "" })
	if got := names(objects); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("kept %v", got)
	}
}

func TestCodec_TruncatedObjectIsAnError(t *testing.T) {
	silenceLog(t)
	pod := testobjects.NewPod(traits{Name: "a", Version: "7", Node: "n"})
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		object := (&Codec{Kind: pods.GroupVersionKind(), KeepManagedFields: keep}).protobufObject(message[:len(message)-4])
		if text, err := object.JSON(); err == nil {
			t.Errorf("managedFields kept: %v: returned without an error: %s", keep, text)
		}
	}
}

// decoders read a typed object that was sent in each of the two forms.
func decoders(c *Codec) map[string]func(*testing.T, runtime.Object) (runtime.Object, error) {
	return map[string]func(*testing.T, runtime.Object) (runtime.Object, error){
		"protobuf": func(t *testing.T, o runtime.Object) (runtime.Object, error) {
			return c.decodeProtobuf(testobjects.ProtobufBody(t, o))
		},
		"JSON": func(t *testing.T, o runtime.Object) (runtime.Object, error) {
			return c.decodeJSON(testobjects.JSONOf(t, o))
		},
	}
}

func decodeAll(t tester, c *Codec, body []byte) []*Object {
	t.Helper()
	decode := c.decodeJSON
	if bytes.HasPrefix(body, protobufPrefix) {
		decode = c.decodeProtobuf
	}
	decoded, err := decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if list, ok := decoded.(*List); ok {
		return list.Items
	}
	return []*Object{decoded.(*Object)}
}

func contentOf(t tester, object *Object) string {
	t.Helper()
	text, err := object.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// silenceLog keeps expected log lines out of a test's output.
func silenceLog(t testing.TB) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// An aggregated API server with Go types writes kind and apiVersion into events, and not into the
// items of lists.
func TestCodec_ListedObjectEqualsAWatchedOne(t *testing.T) {
	c := &Codec{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}
	const rest = `"metadata":{"name":"a","namespace":"d","uid":"u","resourceVersion":"7"},"spec":{}}`
	watched, err := c.decodeJSON([]byte(`{"kind":"Widget","apiVersion":"example.com/v1",` + rest))
	must(t, err)
	list, err := c.decodeJSON([]byte(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"},"items":[{` + rest + `]}`))
	must(t, err)
	if listed := list.(*List).Items[0]; !watched.(*Object).SameContent(listed) {
		t.Errorf("listed %s, watched %s", contentOf(t, listed), contentOf(t, watched.(*Object)))
	}
}
