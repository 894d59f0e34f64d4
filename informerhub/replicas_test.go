package informerhub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// replicas are caches of one random cluster, each with its own link, and readers that switch
// between them.
type replicas struct {
	caches  []*scopeCache
	waiting [][]func(*scopeCache) // steps that each has not received yet
	readers []*reader
	limits  limits // of each
	held    bool

	version int
	uids    int
	worlds  []world  // the cluster's state at each version
	deleted []traits // at the versions of the deletions
	// compacted is the version before which the API server has no history. It has all history
	// unless it compacts.
	compacted int
	compacts  bool
}

// TestReaders_HoldTheStateOfTheClusterAcrossReplicas lets replicas follow the cluster step
// by step, relist, or restart, each at its own time. At whatever replica a reader resumes, it must
// hold exactly the content of its selection at the version of its position.
func TestReaders_HoldTheStateOfTheClusterAcrossReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &replicas{worlds: []world{{}, {}}, version: 1}
		c.compacts = rapid.Bool().Draw(t, "compacts")
		c.limits = someLimits.Draw(t, "limits")
		c.held = rapid.Bool().Draw(t, "held")
		for range 2 {
			c.caches, c.waiting = append(c.caches, nil), append(c.waiting, nil)
			c.start(t, len(c.caches)-1)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":        c.put,
			"delete":     c.delete,
			"expire":     c.expire,
			"churn":      c.churn,
			"follow":     c.follow,
			"relist":     func(t *rapid.T) { c.list(t, c.someReplica(t)) },
			"restart":    func(t *rapid.T) { c.start(t, c.someReplica(t)) },
			"compact":    c.compact,
			"new reader": c.newReader,
			"read":       c.read,
			"one batch":  func(t *rapid.T) { c.someReader(t).one(t) },
			"go back":    c.goBack,
			"wander":     c.wander,
			"show":       c.show,
		})
		for i := range c.caches {
			c.list(t, i)
		}
		c.show(t)
		for _, r := range c.readers {
			c.readBy(t, r)
			if !c.compacts && c.limits.tombstones == maxTombstones && r.resets > r.begun {
				t.Fatalf("a reader had to resync, although no history was evicted")
			}
		}
	})
}

// next creates the next version, with an unchanged state.
func (c *replicas) next() (now world, version string) {
	now = maps.Clone(c.worlds[c.version])
	c.version++
	c.worlds = append(c.worlds, now)
	return now, strconv.Itoa(c.version)
}

// queueStep queues a step for every replica.
func (c *replicas) queueStep(step func(*scopeCache)) {
	for i := range c.waiting {
		c.waiting[i] = append(c.waiting[i], step)
	}
}

func (c *replicas) put(t *rapid.T) {
	place := aPlace.Draw(t, "place")
	uid := c.worlds[c.version][place].UID
	if uid == "" {
		c.uids++
		uid = fmt.Sprint("u", c.uids)
	}
	now, _ := c.next()
	now[place] = someTraits(t, place, uid, c.version)
	c.queueStep(func(cache *scopeCache) { must(t, cache.Update(podObject(t, now[place]))) })
}

func (c *replicas) delete(t *rapid.T) {
	places := slices.SortedFunc(maps.Keys(c.worlds[c.version]), key.compare)
	if len(places) > 0 {
		c.deleteAll([]key{rapid.SampledFrom(places).Draw(t, "place")}, t)
	}
}

// expire deletes many objects at one version.
func (c *replicas) expire(t *rapid.T) {
	c.deleteAll(rapid.SliceOfDistinct(aPlace, rapid.ID[key]).Draw(t, "expiring"), t)
}

func (c *replicas) deleteAll(places []key, t tester) {
	now, version := c.next()
	for _, place := range places {
		last, ok := now[place]
		if !ok {
			continue
		}
		last.Version = version
		delete(now, place)
		c.deleted = append(c.deleted, last)
		c.queueStep(func(cache *scopeCache) { must(t, cache.Delete(podObject(t, last))) })
	}
}

// churn changes objects many times.
func (c *replicas) churn(t *rapid.T) {
	for range rapid.IntRange(1, 40).Draw(t, "changes") {
		rapid.SampledFrom([]func(*rapid.T){c.put, c.put, c.delete}).Draw(t, "change")(t)
	}
}

func (c *replicas) compact(t *rapid.T) {
	if c.compacts {
		c.compacted = rapid.IntRange(c.compacted, c.version).Draw(t, "compacted")
	}
}

func (c *replicas) someReplica(t *rapid.T) int {
	return rapid.IntRange(0, len(c.caches)-1).Draw(t, "replica")
}

// follow delivers some of the queued steps to a replica.
func (c *replicas) follow(t *rapid.T) {
	i := c.someReplica(t)
	steps := rapid.IntRange(0, len(c.waiting[i])).Draw(t, "steps")
	for _, step := range c.waiting[i][:steps] {
		step(c.caches[i])
	}
	c.waiting[i] = c.waiting[i][steps:]
}

// list delivers the present state to a replica.
func (c *replicas) list(t *rapid.T, i int) {
	var all []any
	for _, state := range c.worlds[c.version] {
		all = append(all, podObject(t, state))
	}
	must(t, c.caches[i].Replace(all, strconv.Itoa(c.version)))
	c.caches[i].feed.unchecked = "" // nothing is left out
	c.waiting[i] = nil
}

// start replaces a replica by a new one. Its readers must move.
func (c *replicas) start(t *rapid.T, i int) {
	before := c.caches[i]
	c.caches[i] = cacheWithin(pods, c.limits)
	c.caches[i].history = c
	if c.held { // all changes after the first one, until they are shown
		c.caches[i].feed.watchers.wakeInterval = func(int) time.Duration { return time.Hour }
	}
	c.list(t, i)
	for _, r := range c.readers {
		if r.cache == before {
			c.goOn(t, r, i)
		}
	}
}

// show shows the held changes.
func (c *replicas) show(*rapid.T) {
	for _, cache := range c.caches {
		cache.showAll()
	}
}

func (c *replicas) newReader(t *rapid.T) {
	c.readers = append(c.readers, newReader(t, c.caches[c.someReplica(t)], aQuery.Draw(t, "query")))
}

func (c *replicas) someReader(t *rapid.T) *reader {
	if len(c.readers) == 0 {
		c.newReader(t)
	}
	return rapid.SampledFrom(c.readers).Draw(t, "reader")
}

func (c *replicas) wander(t *rapid.T) { c.goOn(t, c.someReader(t), c.someReplica(t)) }

// goOn makes a reader continue at a replica.
func (c *replicas) goOn(t *rapid.T, r *reader, i int) {
	r.cache = c.caches[i]
	if r.behind == nil {
		r.watch(t, nil)
		return
	}
	r.resume(t, r.point)
}

// goBack makes a reader resume at a replica from an earlier point.
func (c *replicas) goBack(t *rapid.T) {
	r := c.someReader(t)
	if len(r.points) > 0 {
		r.cache = c.caches[c.someReplica(t)]
		r.resume(t, rapid.SampledFrom(r.points).Draw(t, "point"))
	}
}

func (c *replicas) read(t *rapid.T) { c.readBy(t, c.someReader(t)) }

// readBy makes a reader read everything that is pending.
func (c *replicas) readBy(t *rapid.T, r *reader) {
	r.drain(t)
	at := numberOf(r.behind.Version)
	if !c.held {
		at = max(at, numberOf(r.cache.feed.closed))
	}
	want := c.worlds[at].describeSelected(t, r.query)
	held := r.holds()
	// It may have received some of the deletions at the next version, and not others. The events say so.
	for place, state := range c.worlds[at] {
		_, holds := r.held[place]
		if holds || !c.deletedUpTo(state.UID, r.version) {
			continue
		}
		gone := r.query.describe(podObject(t, state))
		want = slices.DeleteFunc(want, func(line string) bool { return line == gone })
	}
	checkSame(t, want, held)
}

// deletedUpTo reports whether an object was deleted at or before a version.
func (c *replicas) deletedUpTo(uid string, version int) bool {
	return slices.ContainsFunc(c.deleted, func(state traits) bool { return state.UID == uid && numberOf(state.Version) <= version })
}

// current implements history.
func (c *replicas) current(context.Context) (string, error) { return strconv.Itoa(c.version), nil }

func (c *replicas) newest(ctx context.Context) (string, error) { return c.current(ctx) }

// hasReached implements history.
func (c *replicas) hasReached(_ context.Context, version string) (bool, error) {
	return c.version >= numberOf(version), nil
}

// progress implements history.
func (c *replicas) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoProgress
}

// listed implements history.
func (c *replicas) listed(context.Context) (listedState, error) { return listedState{}, errNoProgress }

// relist implements history.
func (c *replicas) relist() {}

// deletions implements history.
func (c *replicas) deletions(_ context.Context, since, until string) ([]latest, error) {
	if numberOf(since) < c.compacted {
		return nil, errHistoryEnded
	}
	var received []latest
	for _, state := range c.deleted {
		if object.Older(since, state.Version) && !object.Older(until, state.Version) {
			received = append(received, latest{object: podObject(panicker{}, state).HeadOnly(), deleted: true, version: state.Version})
		}
	}
	return received, nil
}
