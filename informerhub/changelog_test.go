package informerhub

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// relistedOver returns the cache of a replica that was at 10 with the pod a, without the label that
// a caller selects. After an outage, a relist takes it to 40. Meanwhile another replica has
// delivered events up to 20 to the caller: a got the label, and the pod between was created, which
// was deleted at 25. The pod gone was deleted at 40.
func relistedOver(t *testing.T, known bool) *scopeCache {
	t.Helper()
	c := syncedPods(t, 10, labelled(t, "a", "other", 5), labelled(t, "gone", "web", 6))
	if known {
		c.history = &replicas{version: 40, deleted: []traits{
			{Namespace: "default", Name: "between", UID: "uid-between", Version: "25"},
			{Namespace: "default", Name: "gone", UID: "uid-gone", Version: "40"},
		}}
	}
	return c
}

func leap(t *testing.T, c *scopeCache) {
	t.Helper()
	must(t, c.Replace(items(labelled(t, "a", "other", 30), pod(t, "b", 15)), "40"))
}

func labelled(t *testing.T, name, app string, version int) *Object {
	t.Helper()
	return podObject(t, traits{
		Namespace: "default", Name: name, UID: "uid-" + name, Version: fmt.Sprint(version), Labels: map[string]string{"app": app},
	})
}

var (
	byLabel      = Query{LabelSelector: "app=web"}
	latestStates = []string{"DELETED default/between@25 at 25", "DELETED default/a@30 at 30", "DELETED default/gone@40 at 40"}
)

func TestGaps_PositionInsideGetsLatestStates(t *testing.T) {
	c := relistedOver(t, true)
	leap(t, c)
	checkSame(t, latestStates, nextLines(t, resumed(t, c, byLabel, Position{Version: "20"})))
}

func TestGaps_WatcherFromAReplicaAheadGetsLatestStates(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := relistedOver(t, true)
		w := resumed(t, c, byLabel, Position{Version: "20"})
		checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, w))
		complete := c.Freshness().LastContact
		time.Sleep(time.Minute)
		leap(t, c)
		batch, err := w.Next(t.Context()) // before the history is requested
		must(t, err)
		checkSame(t, []string{"BOOKMARK at 20"}, describeAll(batch.Events, describeEvent))
		if fresh := batch.Freshness; !fresh.Stale || !fresh.LastContact.Equal(complete) {
			t.Errorf("%+v without what the relist has found, complete as of %v", fresh, complete)
		}
		checkSame(t, latestStates, nextLines(t, w))
		w.Close()
		if left := len(c.feed.watchers.groups); left != 0 {
			t.Errorf("%d groups are left", left)
		}
	})
}

// A pod was recreated while this replica was away, and changed afterwards. Another replica has
// delivered the recreation. What this replica finds in a relist is a deletion of the first pod at the
// version of the second one.
func TestGaps_RecreatedObjectIsNotDeletedForAReaderThatHasIt(t *testing.T) {
	recreated := func(uid, version string) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: uid, Version: version})
	}
	c := syncedPods(t, 10, recreated("first", "5"))
	c.history = &replicas{version: 40, deleted: []traits{{Namespace: "default", Name: "a", UID: "first", Version: "20"}}}
	must(t, c.Replace(items(recreated("second", "30")), "40"))
	for since, want := range map[string][]string{
		"25": {"MODIFIED default/a@30 at 30"},
		"15": {"DELETED default/a@20 at 20", "MODIFIED default/a@30 at 30"},
		"10": {"DELETED default/a@5 at 30", "ADDED default/a@30 at 30"}, // every step
	} {
		checkSame(t, want, nextLines(t, resumed(t, c, Query{}, Position{Version: since})))
	}
}

func TestGaps_PositionInsideResyncsWithoutHistory(t *testing.T) {
	c := relistedOver(t, false)
	leap(t, c)
	began := []string{"RESET at 40", "SYNCED at 40"}
	checkSame(t, began, nextLines(t, resumed(t, c, byLabel, Position{Version: "11"})))
	checkSame(t, began, nextLines(t, resumed(t, c, byLabel, Position{Version: "39"})))
}

func TestGaps_NothingIsUnknownAtTheirEnds(t *testing.T) {
	c := relistedOver(t, false)
	leap(t, c)
	must(t, c.Update(labelled(t, "a", "web", 41)))
	for since, want := range map[string][]string{
		"10": {"DELETED default/gone@6 at 40", "ADDED default/a@41 at 41"},
		"40": {"ADDED default/a@41 at 41"},
	} {
		w := resumed(t, c, byLabel, Position{Version: since})
		batch, err := w.Next(t.Context())
		must(t, err)
		checkSame(t, want, describeAll(batch.Events, describeEvent))
		if batch.compacted {
			t.Errorf("from %s latest states are sent, not steps", since)
		}
	}
}

// The window has moved past a watcher that comes from a replica which was ahead. That replica has
// delivered an object that was created and deleted since.
func TestLog_DeliversDeletionsToAWatcherFromAReplicaAhead(t *testing.T) {
	c := podCache(1)
	must(t, c.Replace(nil, "10"))
	c.history = &replicas{version: 20}
	w := resumed(t, c, Query{}, Position{Version: "20"})
	w.options.Bookmarks = time.Millisecond // if nothing else arrives
	checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, w))
	must(t, c.Add(pod(t, "a", 15)))
	must(t, c.Delete(pod(t, "a", 25)))
	checkSame(t, []string{"BOOKMARK at 20"}, nextLines(t, w))
	checkSame(t, []string{"DELETED default/a@25 at 25"}, nextLines(t, w))
}

func TestGaps_OldestAreMerged(t *testing.T) {
	l := &changeLog{compactVersion: "1"}
	for i := range maxGaps + 2 {
		l.recordGap(fmt.Sprint(10*i+10), fmt.Sprint(10*i+15))
	}
	if len(l.gaps) != maxGaps {
		t.Errorf("there are %d gaps", len(l.gaps))
	}
	for version, want := range map[string]string{"10": "", "12": "35", "18": "35", "34": "35", "35": "", "42": "45", "47": ""} {
		if got := l.missingUntil(version); got != want {
			t.Errorf("from %s deletions are unknown up to %q, want %q", version, got, want)
		}
	}
}
