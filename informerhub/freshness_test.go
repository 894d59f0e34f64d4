package informerhub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
)

// farther is an API server that has come to a version, and says nothing of whether there
// was something before it.
type farther struct {
	history
	version string
}

func (f *farther) current(context.Context) (string, error) { return f.version, nil }

func (f *farther) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoProgress
}

// following is a cache at version 10 whose API server is at another one.
func followingCache(t *testing.T, version string) *Cache {
	t.Helper()
	c := syncedPods(t, 10)
	c.history = &farther{version: version}
	go c.confirmCurrent(t.Context())
	c.contact.note()
	return c
}

func wantStale(t *testing.T, c *Cache, when string, want bool) Freshness {
	t.Helper()
	synctest.Wait()
	fresh := c.Freshness()
	if fresh.Stale != want {
		t.Errorf("%s: %+v", when, fresh)
	}
	return fresh
}

func TestFreshness_ACacheIsStaleUntilItHasCaughtUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchesUpstream(false)
		wantStale(t, c, "at the API server's version", false)

		c.history = &farther{version: "20"}
		lost := time.Now()
		c.lostUpstream()
		time.Sleep(time.Minute)
		if fresh := wantStale(t, c, "without a watch", true); !fresh.LastContact.Equal(lost) {
			t.Errorf("it is complete as of %v, not %v", fresh.LastContact, lost)
		}
		c.contact.note()
		c.watchesUpstream(false)
		wantStale(t, c, "with a watch that has delivered nothing", true)
		must(t, c.Update(pod(t, "a", 19)))
		if fresh := wantStale(t, c, "with a part of what was missed", true); !fresh.LastContact.Equal(lost) {
			t.Errorf("it is complete as of %v, not %v", fresh.LastContact, lost)
		}
		must(t, c.Update(pod(t, "b", 20)))
		wantStale(t, c, "with all that was missed", false)
	})
}

func TestFreshness_AListIsAsOfWhenItBegan(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := followingCache(t, "30")
		c.lostUpstream()
		time.Sleep(time.Minute)
		began := time.Now()
		c.listsUpstream("")
		c.watchesUpstream(true)
		time.Sleep(time.Minute) // a slow link
		wantStale(t, c, "while the list is under way", true)
		must(t, c.Replace(nil, "25"))
		if fresh := wantStale(t, c, "with a list of a minute ago", true); !fresh.LastContact.Equal(began) {
			t.Errorf("it is complete as of %v, not %v", fresh.LastContact, began)
		}
		c.contact.note()
		must(t, c.Bookmark("30"))
		wantStale(t, c, "with a bookmark that is newer", false)
	})
}

// A watch that is opened again while the API server is asked says nothing of the new one.
func TestFreshness_WhatWasAskedForAnEarlierWatchDoesNotCount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := followingCache(t, "20")
		c.watchesUpstream(false)
		synctest.Wait()
		c.lostUpstream()
		time.Sleep(time.Minute)
		must(t, c.Update(pod(t, "a", 20)))
		wantStale(t, c, "when the watch is lost again", true)
	})
}

func TestFreshness_ALongSilenceIsStale(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchesUpstream(false)
		time.Sleep(maxSilence)
		wantStale(t, c, "when nothing has been heard", false)
		time.Sleep(time.Second)
		wantStale(t, c, "when nothing has been heard for long", true)
		c.contact.note()
		wantStale(t, c, "when something has been heard", false)
	})
}
