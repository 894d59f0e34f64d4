package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
)

func TestKeptListsAreBoundedInBytesThatNoCacheHolds(t *testing.T) {
	kept := newKeptLists()
	keep := func(id string, bytes int) {
		kept.keep(&pagedList{id: id, selected: selected{ownBytes: bytes}})
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
	keep("a", maxOwnBytes/2)
	keep("b", maxOwnBytes/2)
	wantKept("a", "b", "shared")
	keep("a", maxOwnBytes/2) // used again: b is the older one now
	keep("shared", 0)
	keep("c", maxOwnBytes/2)
	wantKept("a", "c", "shared")
	keep("d", maxOwnBytes)
	wantKept("d")
	if kept.ownBytes != maxOwnBytes {
		t.Errorf("%d bytes are counted", kept.ownBytes)
	}
}

func TestWhatHasExpiredIsLetGoOfWhenNobodyAsks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kept := newKeptLists()
		kept.keep(&pagedList{id: "a", selected: selected{ownBytes: 1}})
		time.Sleep(time.Minute)
		kept.keep(&pagedList{id: "b", selected: selected{ownBytes: 2}})
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
