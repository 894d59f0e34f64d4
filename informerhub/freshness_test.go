package informerhub

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// farther is an API server that has reached a version, and does not report whether there was
// anything before it.
type farther struct {
	history
	version string
	relists int
}

func (f *farther) relist() { f.relists++ }

func (f *farther) current(context.Context) (string, error) { return f.version, nil }

func (f *farther) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoProgress
}

// followingCache returns a cache at version 10 whose API server is at another version.
func followingCache(t *testing.T, version string) *scopeCache {
	t.Helper()
	c := syncedPods(t, 10)
	c.history = &farther{version: version}
	go c.verifier.confirmCurrent(t.Context())
	c.activity.record()
	return c
}

func wantStale(t *testing.T, c *scopeCache, when string, want bool) Freshness {
	t.Helper()
	synctest.Wait()
	fresh := c.Freshness()
	if fresh.Stale != want {
		t.Errorf("%s: %+v", when, fresh)
	}
	return fresh
}

func TestFreshness_StaleUntilCaughtUp(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchOpened(false, nil)
		wantStale(t, c, "at the API server's version", false)

		c.history = &farther{version: "20"}
		lost := time.Now()
		c.watchClosed()
		time.Sleep(time.Minute)
		if fresh := wantStale(t, c, "without a watch", true); !fresh.LastContact.Equal(lost) {
			t.Errorf("complete as of %v, want %v", fresh.LastContact, lost)
		}
		c.activity.record()
		c.watchOpened(false, nil)
		wantStale(t, c, "with a watch that has delivered nothing", true)
		must(t, c.Update(pod(t, "a", 19)))
		if fresh := wantStale(t, c, "with a part of what was missed", true); !fresh.LastContact.Equal(lost) {
			t.Errorf("complete as of %v, want %v", fresh.LastContact, lost)
		}
		must(t, c.Update(pod(t, "b", 20)))
		wantStale(t, c, "with all that was missed", false)
	})
}

func TestFreshness_ListIsAsOfItsStart(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "30")
		c.watchClosed()
		time.Sleep(time.Minute)
		began := time.Now()
		c.listStarted("")
		c.watchOpened(true, nil)
		time.Sleep(time.Minute) // a slow link
		wantStale(t, c, "while the list is under way", true)
		must(t, c.Replace(nil, "25"))
		if fresh := wantStale(t, c, "with a list of a minute ago", true); !fresh.LastContact.Equal(began) {
			t.Errorf("complete as of %v, want %v", fresh.LastContact, began)
		}
		c.activity.record()
		must(t, c.Bookmark("30"))
		wantStale(t, c, "with a bookmark that is newer", false)
	})
}

// An answer of the API server for an earlier watch does not apply to a reopened one.
func TestFreshness_IgnoresResponsesForAnEarlierWatch(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "20")
		c.watchOpened(false, nil)
		synctest.Wait()
		c.watchClosed()
		time.Sleep(time.Minute)
		must(t, c.Update(pod(t, "a", 20)))
		wantStale(t, c, "when the watch is lost again", true)
	})
}

func TestFreshness_StaleAfterALongSilence(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchOpened(false, nil)
		time.Sleep(maxSilence)
		wantStale(t, c, "when nothing has been heard", false)
		time.Sleep(time.Second)
		wantStale(t, c, "when nothing has been heard for long", true)
		c.activity.record()
		wantStale(t, c, "when something has been heard", false)
	})
}

// A bookmark alone proves nothing: an API server that lags behind the others may send an older one.
func TestBookmark_RelistsIfTheAPIServerIsAtAnOlderVersion(t *testing.T) {
	for name, test := range map[string]struct {
		bookmark, current string
		relists           int
	}{
		"the API server is at a newer version":    {bookmark: "12", current: "20", relists: 0},
		"the API server is at the bookmark":       {bookmark: "12", current: "12", relists: 0},
		"the API server is at an older version":   {bookmark: "12", current: "9", relists: 1},
		"the bookmark and the API server are old": {bookmark: "9", current: "9", relists: 1},
		"only the bookmark is old":                {bookmark: "9", current: "10", relists: 0},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := followingCache(t, "10")
				c.watchOpened(false, nil)
				wantStale(t, c, "before the bookmark", false)
				api := &farther{version: test.current}
				c.history = api
				must(t, c.Bookmark(test.bookmark))
				synctest.Wait()
				if api.relists != test.relists {
					t.Errorf("the cache relisted %d times, want %d", api.relists, test.relists)
				}
			})
		})
	}
}

func TestBookmark_CacheIsCurrentWhileVersionsAreCompared(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchOpened(false, nil)
		wantStale(t, c, "before the bookmark", false)
		c.history = &farther{version: "20"}
		must(t, c.Bookmark("12"))
		time.Sleep(time.Second)
		wantStale(t, c, "after a bookmark that is older than the API server", false)
	})
}

func TestStatus_RelistingSinceIsTheStartOfTheRelist(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		began := time.Now()
		wantRelisting := func(when string, want time.Time) {
			t.Helper()
			if got := c.status().RelistingSince; !got.Equal(want) {
				t.Errorf("%s: since %v, want %v", when, got, want)
			}
		}
		wantRelisting("before", time.Time{})
		c.watchClosed()
		c.listStarted("10")
		wantRelisting("when it is asked for", began)
		time.Sleep(time.Second)
		c.recordFailure(apierrors.NewTooManyRequestsError("not now"))
		c.listStarted("10")
		c.watchOpened(true, nil)
		wantRelisting("in the second attempt", began)
		must(t, c.Replace(nil, "25"))
		wantRelisting("when it is there", time.Time{})
	})
}

// A replica is as current as the worst of its caches, except those for which the API server returns
// errors.
func TestHubFreshness_OneForbiddenResourceDoesNotCount(t *testing.T) {
	forbidden, away := apierrors.NewForbidden(pods.GroupResource(), "", nil), &discovery.UnavailableError{Err: errors.New("refused")}
	current := func(t *testing.T) *scopeCache {
		c := followingCache(t, "10")
		c.watchOpened(false, nil)
		wantStale(t, c, "to begin with", false)
		return c
	}
	lost := func(err error) func(*testing.T) *scopeCache {
		return func(t *testing.T) *scopeCache {
			c := current(t)
			c.watchClosed()
			c.recordFailure(err)
			return c
		}
	}
	unsynced := func(*testing.T) *scopeCache {
		return newScopeCache(pods, defaultLimits(defaultWindowBytes), &activity{})
	}
	for name, test := range map[string]struct {
		caches []func(*testing.T) *scopeCache
		stale  bool
	}{
		"no cache":                               {nil, false},
		"current":                                {[]func(*testing.T) *scopeCache{current}, false},
		"without a snapshot":                     {[]func(*testing.T) *scopeCache{unsynced, current}, false},
		"one that the service may not list":      {[]func(*testing.T) *scopeCache{current, lost(forbidden)}, false},
		"none that the service may list":         {[]func(*testing.T) *scopeCache{lost(forbidden), lost(forbidden)}, true},
		"one that has lost the API server":       {[]func(*testing.T) *scopeCache{current, lost(away)}, true},
		"one that has lost it, one not its list": {[]func(*testing.T) *scopeCache{lost(forbidden), lost(away)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				hub := &Hub{activity: &activity{}, caches: make(map[reflected]*runningCache)}
				hub.activity.record()
				for i, make := range test.caches {
					hub.caches[reflected{resource: Resource{Name: strconv.Itoa(i)}}] = &runningCache{cache: make(t)}
				}
				time.Sleep(2 * maxUnconfirmed)
				if fresh := hub.Freshness(); fresh.Stale != test.stale {
					t.Errorf("the freshness is %+v", fresh)
				}
			})
		})
	}
}

func TestHubFreshness_CountsResourceAgainWhenListed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		c.watchClosed()
		c.recordFailure(apierrors.NewForbidden(pods.GroupResource(), "", nil))
		must(t, c.Replace(nil, "10"))
		if _, how, _ := c.followed(); how.refused {
			t.Error("the cache is left out")
		}
	})
}

// pinged returns a link on which data has arrived just now, and which is pinged when it is idle.
func pinged(c *scopeCache) *link {
	over := &link{client: &activity{pings: true, paused: c.markUncertain}}
	over.record()
	return over
}

// Data that arrives after a link has stalled was sent earlier: it does not make the cache complete.
func TestFreshness_StalledLinkIsNoContact(t *testing.T) {
	for name, test := range map[string]struct {
		quiet time.Duration
		pings bool
		lags  bool // LastContact stays before the pause
	}{
		"the link is idle":         {time.Second, true, false},
		"the link has stalled":     {maxQuiet + time.Millisecond, true, true},
		"the link stalls for long": {time.Minute, true, true},
		"nothing is pinged":        {time.Minute, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := followingCache(t, "10")
				over := pinged(c)
				over.client.pings, c.activity = test.pings, over.client
				c.watchOpened(false, over)
				wantStale(t, c, "at the API server's version", false)

				before := time.Now()
				time.Sleep(test.quiet)
				c.history = &farther{version: "20"}
				over.record()
				if lags := !c.Freshness().LastContact.After(before); lags != test.lags {
					t.Errorf("%+v, nothing had arrived since %s", c.Freshness(), before)
				}
				must(t, c.Bookmark("20"))
				time.Sleep(time.Second)
				over.record()
				if fresh := wantStale(t, c, "with what was on its way", false); !fresh.LastContact.After(before) {
					t.Errorf("%+v, which is before %s", fresh, before)
				}
			})
		})
	}
}

// TestFreshness_ArrivalAfterAPauseIsNoContactYet asks at the moment at which data has arrived after a pause,
// and the caches do not know it yet: the changes of the pause may still be in transit.
func TestFreshness_ArrivalAfterAPauseIsNoContactYet(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		over := pinged(c)
		c.following.current, c.following.link = true, over
		last, asked := time.Now(), false
		over.client.paused = func(over *link, since time.Time) {
			asked = true
			if fresh := c.Freshness(); fresh.LastContact.After(last) {
				t.Errorf("the last contact is %v after the pause began", fresh.LastContact.Sub(last))
			}
			c.markUncertain(over, since)
		}
		time.Sleep(2 * maxQuiet)
		over.record()
		if fresh := c.Freshness(); !asked || fresh.LastContact.After(last) {
			t.Errorf("after the pause: %+v", fresh)
		}
	})
}

// A connection that is lost without a word is noticed late. Meanwhile requests get responses on another.
func TestFreshness_ContactIsThatOfTheWatchsOwnLink(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "10")
		lost := pinged(c)
		c.watchOpened(false, lost)
		wantStale(t, c, "at the API server's version", false)
		since, another := time.Now(), &link{client: lost.client}
		for range 2 * int(maxSilence/time.Second) {
			time.Sleep(time.Second)
			another.record()
		}
		if fresh := wantStale(t, c, "while only the other link is alive", true); !fresh.LastContact.Equal(since) {
			t.Errorf("complete as of %v, but the watch's link is silent since %v", fresh.LastContact, since)
		}
		c.watchClosed()
		if fresh := c.Freshness(); !fresh.LastContact.Equal(since) {
			t.Errorf("without a watch: complete as of %v, want %v", fresh.LastContact, since)
		}
	})
}

// What a cache finds when it catches up has happened while it could not know: until a watcher has it, the
// watcher is as of the time before.
func TestWatcher_ContactIsBeforeWhatACatchUpHasFound(t *testing.T) {
	for name, find := range map[string]func(*testing.T, *scopeCache){
		"by a list": func(t *testing.T, c *scopeCache) {
			c.listStarted("")
			must(t, c.Replace([]any{pod(t, "a", 19), pod(t, "b", 20)}, "20"))
		},
		"by a watch": func(t *testing.T, c *scopeCache) {
			c.watchOpened(false, nil)
			must(t, c.Update(pod(t, "a", 19)))
			must(t, c.Update(pod(t, "b", 20)))
			c.activity.record()
		},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := followingCache(t, "20")
				c.feed.limits.batch = 1
				c.watchOpened(false, nil)
				w := startedWatcher(t, c, Query{})
				lost := c.Freshness().LastContact
				c.watchClosed()
				time.Sleep(time.Minute)
				find(t, c)
				synctest.Wait()
				for changes := 0; changes < 2; {
					batch, err := w.Next(t.Context())
					must(t, err)
					if batch.Events[0].Type != Bookmark {
						changes++
					}
					if fresh := batch.Freshness; fresh.LastContact.After(lost) != (changes == 2) {
						t.Errorf("with %d of 2 changes: as of %v after contact was lost", changes, fresh.LastContact.Sub(lost))
					}
				}
			})
		})
	}
}

// The link of a request is known over TLS and HTTP/2, where the connection is shared, and without.
func TestTraceLink_KnowsTheConnectionOfARequest(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1": (*httptest.Server).Start,
		"HTTP/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			start(server)
			defer server.Close()
			config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			client := &activity{}
			client.instrument(config)
			requests, err := rest.HTTPClientFor(config)
			must(t, err)
			defer requests.CloseIdleConnections()
			send := func() *link {
				ctx, over := traceLink(t.Context())
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
				must(t, err)
				response, err := requests.Do(request)
				must(t, err)
				_, err = io.Copy(io.Discard, response.Body)
				must(t, errors.Join(err, response.Body.Close()))
				return over()
			}
			before := time.Now()
			first, second := send(), send()
			if first == nil || first != second {
				t.Fatalf("sent over %p and %p", first, second)
			}
			last, pinged := first.lastContact()
			if pinged != (name == "HTTP/2") || pinged && !last.After(before) || !client.time().After(before) {
				t.Errorf("pinged: %t, last contact %v after the request", pinged, last.Sub(before))
			}
		})
	}
}

func TestFreshness_ListOfAnyAgeIsNotAsOfItsStart(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "30")
		lost := time.Now()
		c.watchClosed()
		time.Sleep(time.Minute)
		c.listStarted("10") // from an API server that may be disconnected from etcd
		c.watchOpened(true, nil)
		must(t, c.Replace(nil, "11"))
		if fresh := wantStale(t, c, "with a list of any age", true); !fresh.LastContact.Equal(lost) {
			t.Errorf("complete as of %v, want %v", fresh.LastContact, lost)
		}
	})
}

// Events have no bookmarks.
func TestFreshness_QuietWatchIsCaughtUp(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := followingCache(t, "20")
		c.watchClosed()
		time.Sleep(time.Minute)
		c.watchOpened(false, nil)
		wantStale(t, c, "at once", true)
		time.Sleep(catchUpTimeout)
		c.activity.record()
		wantStale(t, c, "when the watch has been quiet", false)
	})
}
