package sorted

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/scalar"
)

// pod returns a pod with a random node, so that many pods are equal in the orders of the tests.
func pod(t *testing.T, draw *rapid.T) *informerhub.Object {
	pod := objecttest.Pod(fmt.Sprint("pod-", rapid.IntRange(0, 12).Draw(draw, "name")), rapid.IntRange(1, 1000).Draw(draw, "version"))
	pod.Spec.NodeName = rapid.SampledFrom([]string{"", "a", "b", "node-2", "node-10"}).Draw(draw, "node")
	pod.Status.Phase = corev1.PodPhase(rapid.SampledFrom([]string{"", "Running"}).Draw(draw, "phase"))
	return objecttest.PodObject(t, pod)
}

// model is a sorted set without an index.
type model struct {
	order  Order
	byName map[string]Entry
}

func (m model) sorted(compare func(a, b Entry) int) []Entry {
	var entries []Entry
	for _, entry := range m.byName {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, compare)
	return entries
}

func TestObjects_HaveTheOrderOfASort(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		order, err := Parse(rapid.SampledFrom([]string{"", "spec.nodeName", "status.phase desc, spec.nodeName", "spec.nosuch"}).Draw(draw, "order"))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := NewObjects(order)
		if err != nil {
			t.Fatal(err)
		}
		m := model{order, make(map[string]Entry)}
		for range rapid.IntRange(0, 60).Draw(draw, "changes") {
			change(t, draw, objects, m)
			checkObjects(t, draw, objects, m)
		}
	})
}

// change adds, changes or removes an object.
func change(t *testing.T, draw *rapid.T, objects *Objects, m model) {
	after := pod(t, draw)
	key := after.Key()
	before := m.byName[key].Object
	delete(m.byName, key)
	if before != nil && rapid.Bool().Draw(draw, "remove") {
		after = nil
	}
	if err := objects.Change(before, after, 0); err != nil {
		t.Fatal(err)
	}
	if after != nil {
		entry, _ := objects.Find(after.Namespace(), after.Name())
		m.byName[key] = entry
	}
}

func checkObjects(t *testing.T, draw *rapid.T, objects *Objects, m model) {
	want := m.sorted(objects.compare)
	from := rapid.IntRange(0, 15).Draw(draw, "from")
	limit := rapid.IntRange(0, 8).Draw(draw, "limit")
	got := objects.Range(from, limit)
	expected := want[min(from, len(want)):min(from+limit, len(want))]
	if !slices.EqualFunc(got, expected, func(a *informerhub.Object, b Entry) bool { return a == b.Object }) {
		t.Fatalf("the objects from %d are %v, want %v", from, got, expected)
	}
	if objects.Len() != len(want) {
		t.Fatalf("it has %d objects, want %d", objects.Len(), len(want))
	}
	for i, entry := range want {
		if at := objects.IndexOf(entry); at != i || !objects.Contains(entry) {
			t.Fatalf("object %d is at %d", i, at)
		}
	}
	other := Entry{Object: pod(t, draw)}
	other.keys = make([]scalar.Value, m.order.Paths())
	if err := objects.reader.Read(other.Object, other.keys); err != nil {
		t.Fatal(err)
	}
	before, _ := slices.BinarySearchFunc(want, other, objects.compare)
	if at := objects.IndexOf(other); at != before {
		t.Fatalf("an object that is not in the set has the place %d, want %d", at, before)
	}
}

func TestObjects_CountTheirMemory(t *testing.T) {
	objects, err := NewObjects(Order{})
	if err != nil {
		t.Fatal(err)
	}
	a := objecttest.PodObject(t, objecttest.Pod("a", 1))
	if err := objects.Change(nil, a, 0); err != nil || objects.Bytes() == 0 {
		t.Errorf("with an object it needs %d bytes, %v", objects.Bytes(), err)
	}
	if err := objects.Change(a, nil, 0); err != nil || objects.Bytes() != 0 {
		t.Errorf("without objects it needs %d bytes, %v", objects.Bytes(), err)
	}
}

// TestObjects_BytesAreNotBelowTheHeap has keys of all lengths, among them keys that are cut.
func TestObjects_BytesAreNotBelowTheHeap(t *testing.T) {
	order, err := Parse("spec.a,spec.b desc")
	if err != nil {
		t.Fatal(err)
	}
	const count = 100
	for _, length := range []int{0, 20, 1_000, scalar.MaxComparedBytes + 1, 20_000, 480_000} {
		of := make([]*informerhub.Object, count)
		for i := range of {
			of[i] = objecttest.WidgetObject(t, fmt.Sprintf(
				`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":"w-%d","uid":"u","resourceVersion":"1"},"spec":{"a":"%s%d","b":%d.5}}`,
				i, strings.Repeat("x", length), i, i))
		}
		objects, err := NewObjects(order)
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		for _, object := range of {
			if err := objects.Change(nil, object, 0); err != nil {
				t.Fatal(err)
			}
		}
		kept := heap() - before
		t.Logf("keys of %d bytes: %d bytes are kept, %d are counted", length, kept, objects.Bytes())
		if kept > objects.Bytes() {
			t.Errorf("keys of %d bytes: %d bytes are kept, and %d are counted", length, kept, objects.Bytes())
		}
		if most := count*2*(512+scalar.MaxComparedBytes) + 64<<10; objects.Bytes() > most {
			t.Errorf("keys of %d bytes: %d bytes are counted, more than %d", length, objects.Bytes(), most)
		}
		for _, object := range of {
			if err := objects.Change(object, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		if rest := objects.Bytes() - objects.reader.Bytes(); rest != 0 {
			t.Errorf("keys of %d bytes: without objects %d bytes are counted", length, rest)
		}
		runtime.KeepAlive(of)
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
