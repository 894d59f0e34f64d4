package reads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// FuzzOrder parses any order_by, or returns a bad request.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{"", "a", "a desc,b", "metadata.labels['a,b'] desc", `a\,b`, "'", `a["`, ",,", "{.a} desc", "a\t desc"} {
		f.Add(seed)
	}
	object := objecttest.PodObject(f, objecttest.Pod("a", 1))
	f.Fuzz(func(t *testing.T, text string) {
		o, err := sorted.Parse(text)
		if err == nil {
			_, err = sortObjects(t.Context(), o, []*informerhub.Object{object, object})
		}
		if err != nil && !apierrors.IsBadRequest(err) {
			t.Errorf("returned %v, which is not a BadRequest", err)
		}
		if o.Paths() > 8 {
			t.Errorf("%d paths", o.Paths())
		}
	})
}

func sortedNames(t *testing.T, text string, objects ...*informerhub.Object) ([]string, error) {
	t.Helper()
	o, err := sorted.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	inOrder, err := sortObjects(t.Context(), o, objects)
	var names []string
	for _, object := range inOrder {
		names = append(names, object.Name())
	}
	return names, err
}

func TestOrder_EqualObjectsKeepTheDefaultOrder(t *testing.T) {
	var objects []*informerhub.Object
	for i := range 6 {
		pod := objecttest.Pod(fmt.Sprint("pod-", i), i)
		pod.Spec.NodeName = fmt.Sprint("node-", i%2)
		objects = append(objects, objecttest.PodObject(t, pod))
	}
	for text, want := range map[string]string{
		"":                   "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"spec.nosuch":        "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"spec.nosuch desc":   "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5",
		"metadata.name desc": "pod-5 pod-4 pod-3 pod-2 pod-1 pod-0",
		"spec.nodeName desc": "pod-1 pod-3 pod-5 pod-0 pod-2 pod-4",
		"spec.nodeName,metadata.resourceVersion desc": "pod-4 pod-2 pod-0 pod-5 pod-3 pod-1",
	} {
		if got, err := sortedNames(t, text, objects...); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}

// TestOrder_LongStringsAreComparedByTheirBeginning compares lists and live pages with a sort by the
// documented order.
func TestOrder_LongStringsAreComparedByTheirBeginning(t *testing.T) {
	aText := rapid.Custom(func(t *rapid.T) string {
		text := strings.Repeat("x", rapid.SampledFrom([]int{0, 1021, 1022, 1023, 1024, 1025, 5000}).Draw(t, "equal bytes"))
		return text + rapid.SampledFrom([]string{"", "a", "b", "é", "éa", "世界"}).Draw(t, "end")
	})
	type texts struct{ a, b string }
	rapid.Check(t, func(draw *rapid.T) {
		values := make(map[string]texts)
		var objects []*informerhub.Object
		for i := range rapid.IntRange(0, 12).Draw(draw, "objects") {
			name, text := fmt.Sprintf("w-%02d", i), texts{aText.Draw(draw, "a"), aText.Draw(draw, "b")}
			values[name] = text
			objects = append(objects, objecttest.WidgetObject(t, fmt.Sprintf(
				`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":%q,"uid":"u","resourceVersion":"1"},"spec":{"a":%q,"b":%q}}`,
				name, text.a, text.b)))
		}
		want := slices.SortedFunc(maps.Keys(values), func(x, y string) int {
			return cmp.Or(cmp.Compare(beginning(values[x].a), beginning(values[y].a)), cmp.Compare(beginning(values[y].b), beginning(values[x].b)), cmp.Compare(x, y))
		})
		listed, err := sortedNames(t, "spec.a,spec.b desc", objects...)
		if err != nil || !slices.Equal(listed, want) {
			draw.Fatalf("listed %v, %v; want %v", listed, err, want)
		}
		if live := liveNames(t, "spec.a,spec.b desc", objects); !slices.Equal(live, want) {
			draw.Fatalf("a live page has %v, want %v", live, want)
		}
	})
}

// beginning returns the characters of a text that end within its first 1,024 bytes.
func beginning(text string) (cut string) {
	for _, character := range text {
		if len(cut)+utf8.RuneLen(character) > 1024 {
			break
		}
		cut += string(character)
	}
	return cut
}

// liveNames returns the names of objects in the order of live pages.
func liveNames(t *testing.T, text string, objects []*informerhub.Object) (names []string) {
	t.Helper()
	order, err := sorted.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	live, err := sorted.NewObjects(order)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range slices.Backward(objects) {
		if err := live.Change(nil, object, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range live.Range(0, len(objects)) {
		names = append(names, object.Name())
	}
	return names
}

func TestOrder_ObjectsAsSortKeysAreBadRequests(t *testing.T) {
	for _, path := range []string{"spec", "metadata", "spec.containers", "status"} {
		pod := objecttest.Pod("a", 1)
		pod.Spec.Containers = append(pod.Spec.Containers, someContainer())
		_, err := sortedNames(t, "metadata.name,"+path, objecttest.PodObject(t, pod))
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), fmt.Sprintf("%q is an object", path)) {
			t.Errorf("%s returned %v", path, err)
		}
	}
}

func TestOrder_SortingEndsWhenTheClientDisconnects(t *testing.T) {
	var objects []*informerhub.Object
	for i := range 3 * comparisonsBetweenYields {
		objects = append(objects, objecttest.PodObject(t, objecttest.Pod(fmt.Sprint("pod-", i), i)))
	}
	o, err := sorted.Parse("metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	for _, looks := range []int{0, 1, 5} { // at the first, while keys are read, and while they are compared
		ctx := &servertest.Leaving{Context: t.Context(), Looks: looks}
		if sorted, err := sortObjects(ctx, o, objects); !errors.Is(err, context.Canceled) || sorted != nil {
			t.Errorf("after %d checks: %d objects, %v", looks, len(sorted), err)
		}
	}
}

// someContainer returns a container of typical size.
func someContainer() corev1.Container {
	c := corev1.Container{Name: "main", Image: "registry.example.com/shop/web:1.2.3"}
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: "some value of a variable"})
	}
	return c
}

// BenchmarkSort compares the first page of a sorted list with reading the values that it is sorted
// by.
func BenchmarkSort(b *testing.B) {
	var objects []*informerhub.Object
	for i := range 20_000 {
		pod := objecttest.Pod(fmt.Sprintf("pod-%05d", i), i)
		pod.Spec.NodeName = fmt.Sprint("node-", rand.IntN(500))
		pod.Spec.Containers = append(pod.Spec.Containers, someContainer())
		objects = append(objects, objecttest.PodObject(b, pod))
	}
	for _, text := range []string{"metadata.name desc", "spec.nodeName", "status.phase,metadata.creationTimestamp desc"} {
		b.Run(text, func(b *testing.B) {
			o, err := sorted.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := sortObjects(b.Context(), o, slices.Clone(objects)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
