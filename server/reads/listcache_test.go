package reads

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// TestKeptLists_OfOneCallerLeaveMemoryForOthers has two callers exceed the memory for lists, one
// after the other.
func TestKeptLists_OfOneCallerLeaveMemoryForOthers(t *testing.T) {
	faketime.Test(t, keepsTooMuch)
}

func keepsTooMuch(t *testing.T) {
	list := Result{Snapshot: objecttest.PodSnapshot(t, 10)}
	kept := newListCache(observe.NewMetrics())
	capacity := int(listShare.Bytes() / newOrderedList(list).size())
	for _, caller := range []string{"first", "second", "third"} {
		for i := range capacity + 1 {
			if i == capacity {
				time.Sleep(listActive)
			}
			kept.add(fmt.Sprint(caller, i), caller, list)
		}
	}
	counts := make(map[string]int)
	for at := kept.used.Front(); at != nil; at = at.Next() {
		counts[at.Value.(*cachedList).owner]++
	}
	if counts["first"] < capacity/3 || counts["second"] < capacity/8 || counts["third"] < capacity/16 {
		t.Errorf("of %d lists there are %v", capacity, counts)
	}
	for caller := range counts {
		if _, ok := kept.find(fmt.Sprint(caller, capacity)); !ok {
			t.Errorf("the last list of the %s was evicted", caller)
		}
	}
	if held, most := kept.memory.Held(), listShare.Bytes(); held > most {
		t.Errorf("%d bytes are held of %d", held, most)
	}
}

func TestKeptLists_KeepWhatIsUsed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		kept := newListCache(observe.NewMetrics())
		kept.add("a", "", Result{})
		kept.add("b", "", Result{})
		time.Sleep(listLifetime - time.Second)
		if _, ok := kept.find("a"); !ok {
			t.Error("a was evicted within its lifetime")
		}
		time.Sleep(listLifetime - time.Second)
		if _, ok := kept.find("b"); ok {
			t.Error("b is kept after its lifetime")
		}
		if _, ok := kept.find("a"); !ok {
			t.Error("a was evicted within its lifetime since it was used")
		}
		time.Sleep(listLifetime + time.Second)
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if kept.used.Len() > 0 || len(kept.byKey) > 0 || kept.memory.Held() > 0 || kept.sweeping != nil {
			t.Error("something is left after the lifetime")
		}
	})
}

// TestKeptLists_KeepWhatIsActive reads a list while its caller starts another one.
func TestKeptLists_KeepWhatIsActive(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		list := Result{Snapshot: objecttest.PodSnapshot(t, 10), unshared: true}
		kept := newListCache(observe.NewMetrics())
		kept.memory = fairqueue.New(fairqueue.Limits{Total: 2*newOrderedList(list).size() + listBytes})
		if !kept.add("first", "jane", list) || kept.add("second", "jane", list) {
			t.Error("the first list was evicted while it is read")
		}
		time.Sleep(listActive)
		if !kept.add("second", "jane", list) {
			t.Error("the first list was not evicted when it is no longer read")
		}
	})
}

// TestKeptLists_HoldNoObjectOfACache caches the names of objects in an informer cache, and the
// objects of the API server.
func TestKeptLists_HoldNoObjectOfACache(t *testing.T) {
	snapshot := objecttest.PodSnapshot(t, 3)
	cached, own := newOrderedList(Result{Snapshot: snapshot}), newOrderedList(Result{Snapshot: snapshot, unshared: true})
	if len(cached.Snapshot.Objects) > 0 || len(cached.names) != 3 || cached.size() <= listBytes {
		t.Errorf("a list from a cache has %d objects and %d names, and %d bytes", len(cached.Snapshot.Objects), len(cached.names), cached.size())
	}
	for i, object := range snapshot.Objects {
		if name := cached.names[i]; name.Name != object.Name() || unsafe.StringData(name.Name) == unsafe.StringData(object.Name()) {
			t.Errorf("%q shares its memory with the object", name.Name)
		}
	}
	if got, want := own.size(), int64(listBytes+3*(pointerBytes+snapshot.Objects[0].Size())); got != want {
		t.Errorf("%d bytes of a list from the API server, not %d", got, want)
	}
}
