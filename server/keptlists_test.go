package server

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// TestKeptLists_OfOneCallerLeaveRoomForOthers has two callers exceed the memory for lists, one
// after the other.
func TestKeptLists_OfOneCallerLeaveRoomForOthers(t *testing.T) {
	bubble.Test(t, keepsTooMuch)
}

func keepsTooMuch(t *testing.T) {
	list := listResult{snapshot: podSnapshot(t, 10)}
	kept := newKeptLists()
	room := int(ownBytesShare.bytes() / orderedOf(list).size())
	for _, caller := range []string{"first", "second", "third"} {
		for i := range room + 1 {
			if i == room {
				time.Sleep(keptActive)
			}
			kept.keep(fmt.Sprint(caller, i), caller, list)
		}
	}
	counts := make(map[string]int)
	for at := kept.used.Front(); at != nil; at = at.Next() {
		counts[at.Value.(*keptList).owner]++
	}
	if counts["first"] < room/3 || counts["second"] < room/8 || counts["third"] < room/16 {
		t.Errorf("of %d lists there are %v", room, counts)
	}
	for caller := range counts {
		if _, ok := kept.find(fmt.Sprint(caller, room)); !ok {
			t.Errorf("the last list of the %s was evicted", caller)
		}
	}
	if held, most := kept.memory.Held(), ownBytesShare.bytes(); held > most {
		t.Errorf("%d bytes are held of %d", held, most)
	}
}

func TestKeptLists_KeepWhatIsUsed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kept := newKeptLists()
		kept.keep("a", "", listResult{})
		kept.keep("b", "", listResult{})
		time.Sleep(keptLifetime - time.Second)
		if _, ok := kept.find("a"); !ok {
			t.Error("a was evicted within its lifetime")
		}
		time.Sleep(keptLifetime - time.Second)
		if _, ok := kept.find("b"); ok {
			t.Error("b is kept after its lifetime")
		}
		if _, ok := kept.find("a"); !ok {
			t.Error("a was evicted within its lifetime since it was used")
		}
		time.Sleep(keptLifetime + time.Second)
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if kept.used.Len() > 0 || len(kept.byKey) > 0 || kept.memory.Held() > 0 || kept.sweeping != nil {
			t.Error("something is left after the lifetime")
		}
	})
}

// TestKeptLists_KeepWhatIsActive reads a list while its caller starts another one.
func TestKeptLists_KeepWhatIsActive(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		list := listResult{snapshot: podSnapshot(t, 10), own: true}
		kept := newKeptLists()
		kept.memory = fairqueue.New(fairqueue.Limits{Total: 2*orderedOf(list).size() + listBytes})
		if !kept.keep("first", "jane", list) || kept.keep("second", "jane", list) {
			t.Error("the first list was evicted while it is read")
		}
		time.Sleep(keptActive)
		if !kept.keep("second", "jane", list) {
			t.Error("the first list was not evicted when it is no longer read")
		}
	})
}

// TestKeptLists_HoldNoObjectOfACache caches the names of objects in an informer cache, and the
// objects of the API server.
func TestKeptLists_HoldNoObjectOfACache(t *testing.T) {
	snapshot := podSnapshot(t, 3)
	cached, own := orderedOf(listResult{snapshot: snapshot}), orderedOf(listResult{snapshot: snapshot, own: true})
	if len(cached.snapshot.Objects) > 0 || len(cached.names) != 3 || cached.size() <= listBytes {
		t.Errorf("a list from a cache has %d objects and %d names, and %d bytes", len(cached.snapshot.Objects), len(cached.names), cached.size())
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
