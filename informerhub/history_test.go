package informerhub

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestHistory_OlderPositionGetsLaterDeletionsToo(t *testing.T) {
	c := syncedPods(t, 10)
	c.history = &replicas{deleted: []traits{
		{Namespace: "default", Name: "first", UID: "uid-first", Version: "3"},
		{Namespace: "default", Name: "second", UID: "uid-second", Version: "6"},
	}}
	checkSame(t, []string{"DELETED default/second@6 at 6"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "5"})))
	checkSame(t, []string{"DELETED default/first@3 at 3", "DELETED default/second@6 at 6"},
		nextLines(t, resumed(t, c, Query{}, Position{Version: "2"})))
}

// Of several watchers that wait for history, one requests it for all. If that fails, the next one
// requests its own.
func TestHistory_RequestsTheOldestPositionThenItsOwn(t *testing.T) {
	c := syncedPods(t, 10)
	c.history = &replicas{}
	c.backfiller.needsBackfill("2")
	c.backfiller.needsBackfill("5")
	for _, want := range []string{"2", "5"} {
		if since, until := c.backfiller.takeWantedRange("5"); since != want || until != "10" {
			t.Errorf("requested from %q up to %q, want from %q", since, until, want)
		}
	}
}

func TestHistory_TooOldVersionIsRequestedOnce(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 100, pod(t, "a", 50))
		api := &expiring{replicas: &replicas{version: 100}}
		c.history = api
		for _, version := range []string{"20", "20", "7", "19"} {
			if lines := nextLines(t, resumed(t, c, Query{}, Position{Version: version})); lines[0] != "RESET at 100" {
				t.Errorf("from %s, received %v", version, lines)
			}
		}
		if api.asked != 1 {
			t.Errorf("the history was requested %d times", api.asked)
		}
		nextLines(t, resumed(t, c, Query{}, Position{Version: "30"}))
		time.Sleep(historyPause)
		nextLines(t, resumed(t, c, Query{}, Position{Version: "7"}))
		if api.asked != 3 {
			t.Errorf("the history was requested %d times, want again for a newer version, and after a while", api.asked)
		}
	})
}

// Events have no bookmarks that would end their history.
func TestHistory_FailedBackfillIsNotRepeatedByEachStream(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		api := &silent{}
		c.history = api
		for range 3 {
			checkSame(t, []string{"RESET at 10", "SYNCED at 10"}, nextLines(t, resumed(t, c, Query{}, Position{Version: "5"})))
		}
		time.Sleep(historyPause)
		nextLines(t, resumed(t, c, Query{}, Position{Version: "5"}))
		if api.asked != 2 {
			t.Errorf("the history was requested %d times", api.asked)
		}
	})
}
