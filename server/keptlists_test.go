package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
)

func TestKeptListsAreBoundedInBytesThatNoCacheHolds(t *testing.T) {
	kept := newKeptLists(Limits{})
	keep := func(id string, bytes int) {
		kept.keep(&pagedList{id: id, ownBytes: bytes})
	}
	wantKept := func(want ...string) {
		t.Helper()
		var got []string
		for _, id := range []string{"a", "b", "c", "d", "shared"} {
			if kept.find(id) != nil {
				got = append(got, id)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("kept are %v, not %v", got, want)
		}
	}
	keep("shared", 0)
	keep("a", kept.maxOwnBytes/2)
	keep("b", kept.maxOwnBytes/2)
	wantKept("a", "b", "shared")
	keep("a", kept.maxOwnBytes/2) // used again: b is the older one now
	keep("shared", 0)
	keep("c", kept.maxOwnBytes/2)
	wantKept("a", "c", "shared")
	keep("d", kept.maxOwnBytes)
	wantKept("d", "shared") // which takes nothing
	if kept.ownBytes != kept.maxOwnBytes {
		t.Errorf("%d bytes are counted", kept.ownBytes)
	}
}

func TestWhatHasExpiredIsLetGoOfWhenNobodyAsks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kept := newKeptLists(Limits{})
		kept.keep(&pagedList{id: "a", ownBytes: 1})
		time.Sleep(time.Minute)
		kept.keep(&pagedList{id: "b", ownBytes: 2})
		for _, step := range []struct {
			wait  time.Duration
			bytes int
		}{{pageLifetime - 2*time.Minute, 3}, {time.Minute + time.Second, 2}, {time.Minute, 0}} {
			time.Sleep(step.wait)
			kept.mu.Lock()
			if kept.ownBytes != step.bytes || kept.sweeping != nil != (step.bytes > 0) {
				t.Errorf("%d bytes are kept, not %d", kept.ownBytes, step.bytes)
			}
			kept.mu.Unlock()
		}
	})
}

// TestTheListsOfOneCallerEndNoOtherCallersPages has each of some callers keep lists, one after the other.
func TestTheListsOfOneCallerEndNoOtherCallersPages(t *testing.T) {
	const perCaller = maxPagedLists / pagedListsPart
	for name, test := range map[string]struct {
		callers, lists int // of each of them
		kept           int // of all of these
	}{
		"one caller with more than there may be": {1, maxPagedLists + 1, perCaller},
		"more callers than may have all":         {2 * maxPagedLists / perCaller, perCaller, maxPagedLists - 1},
	} {
		t.Run(name, func(t *testing.T) {
			kept := newKeptLists(Limits{Rate: 1})
			kept.keep(&pagedList{id: "first", owner: "victim", ownBytes: 1})
			for caller := range test.callers {
				for i := range test.lists {
					kept.keep(&pagedList{id: fmt.Sprint(caller, " ", i), owner: fmt.Sprint(caller), ownBytes: 1})
				}
			}
			if kept.find("first") == nil {
				t.Error("the other caller's list is gone")
			}
			if count := kept.used.Len() - 1; count != test.kept {
				t.Errorf("%d lists are kept, not %d", count, test.kept)
			}
			if last := fmt.Sprint(test.callers-1, " ", test.lists-1); kept.find(last) == nil {
				t.Error("the last list is gone")
			}
		})
	}
}

func TestTheLargeListsOfOneCallerEndNoOtherCallersPages(t *testing.T) {
	kept := newKeptLists(Limits{Rate: 1})
	kept.keep(&pagedList{id: "victim", owner: "victim", ownBytes: kept.maxOwnBytes / 4})
	for i := range 8 {
		kept.keep(&pagedList{id: fmt.Sprint(i), owner: "many", ownBytes: kept.maxOwnBytes / 2})
	}
	if kept.find("victim") == nil || kept.find("7") == nil || kept.find("6") != nil {
		t.Error("kept are others than the last one and that of another caller")
	}
}

func TestTheBytesOfAKeptListAreThoseThatNoCacheHolds(t *testing.T) {
	snapshot := podSnapshot(t, 3)
	if got := ownBytesOf(selected{snapshot: snapshot}); got != 3*pointerBytes {
		t.Errorf("%d bytes of a list from a cache", got)
	}
	if got, want := ownBytesOf(selected{snapshot: snapshot, own: true}), 3*(pointerBytes+snapshot.Objects[0].Size()); got != want {
		t.Errorf("%d bytes of a list from the API server, not %d", got, want)
	}
}
