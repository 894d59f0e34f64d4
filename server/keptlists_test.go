package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
)

// TestKeptLists_OfOneCallerLeaveRoomForOthers has callers keep more than there may be, one after
// the other.
func TestKeptLists_OfOneCallerLeaveRoomForOthers(t *testing.T) {
	list := selected{snapshot: podSnapshot(t, 10)}
	kept := newKeptLists()
	room := int(ownBytesShare.bytes() / ownBytesOf(list))
	for _, caller := range []string{"first", "second", "third"} {
		for i := range room + 1 {
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
			t.Errorf("the last list of the %s is gone", caller)
		}
	}
	if held, most := kept.memory.Held(), ownBytesShare.bytes(); held > most {
		t.Errorf("%d bytes are held of %d", held, most)
	}
}

func TestKeptLists_KeepWhatIsUsed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kept := newKeptLists()
		kept.keep("a", "", selected{})
		kept.keep("b", "", selected{})
		time.Sleep(keptLifetime - time.Second)
		if _, ok := kept.find("a"); !ok {
			t.Error("a is gone within its lifetime")
		}
		time.Sleep(keptLifetime - time.Second)
		if _, ok := kept.find("b"); ok {
			t.Error("b is kept after its lifetime")
		}
		if _, ok := kept.find("a"); !ok {
			t.Error("a is gone within its lifetime since it was used")
		}
		time.Sleep(keptLifetime + time.Second)
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if kept.used.Len() > 0 || len(kept.byKey) > 0 || kept.memory.Held() > 0 || kept.sweeping != nil {
			t.Error("something is left after the lifetime")
		}
	})
}

func TestKeptLists_TakeTheBytesThatNoCacheHolds(t *testing.T) {
	snapshot := podSnapshot(t, 3)
	if got := ownBytesOf(selected{snapshot: snapshot}); got != listBytes+3*pointerBytes {
		t.Errorf("%d bytes of a list from a cache", got)
	}
	if got, want := ownBytesOf(selected{snapshot: snapshot, own: true}), int64(listBytes+3*(pointerBytes+snapshot.Objects[0].Size())); got != want {
		t.Errorf("%d bytes of a list from the API server, not %d", got, want)
	}
}
