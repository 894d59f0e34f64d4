package informerhub

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// cluster is a random cluster as its API server reports it to a cache, with the readers of that
// cache.
type cluster struct {
	cache   *scopeCache
	holds   world
	version int
	uids    int
	readers []*reader
	// expiring are objects that are deleted at one version. The cache receives one deletion after
	// another.
	expiring []traits
}

// TestReaders_HoldTheStateOfTheCluster changes a cluster at random in every way that a Reflector
// reports, while readers of different selections come at different times to a feed with a short
// history. Each must hold exactly the content of its selection, and receive each event in order and
// once (see reader).
func TestReaders_HoldTheStateOfTheCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cluster{cache: cacheWithin(pods, someLimits.Draw(t, "limits")), holds: world{}, version: 7} // from one digit to two
		if rapid.Bool().Draw(t, "held") {                                                                 // all changes after the first one, until they are shown
			c.cache.feed.watchers.wakeInterval = func(int) time.Duration { return time.Hour }
		}
		c.relist(t)
		t.Repeat(map[string]func(*rapid.T){
			"put":         c.put,
			"delete":      c.delete,
			"recreate":    c.recreate,
			"churn":       c.churn,
			"expire":      c.expire,
			"one expires": c.expireOne,
			"say again":   c.sayAgain,
			"relist":      c.relist,
			"restore":     c.restore,
			"rewrite":     c.rewrite,
			"bookmark":    c.bookmark,
			"new reader":  c.newReader,
			"reader":      c.read,
			"glance":      c.glance,
			"one batch":   c.oneBatch,
			"show":        c.show,
			"come back":   c.comeBack,
			"go back":     c.goBack,
			"rescope":     c.rescope,
			"all readers": c.readAll,
		})
		c.readAll(t)
	})
}

func (c *cluster) next() int { c.version++; return c.version }

// churn changes a few objects many times.
func (c *cluster) churn(t *rapid.T) {
	for range rapid.IntRange(1, 40).Draw(t, "changes") {
		rapid.SampledFrom([]func(*rapid.T){c.put, c.put, c.delete, c.recreate}).Draw(t, "change")(t)
	}
}

// expire begins to delete many objects at one version.
func (c *cluster) expire(t *rapid.T) {
	c.allExpire(t)
	if len(c.holds) == 0 {
		return
	}
	first, _ := c.somePlace(t)
	version := strconv.Itoa(c.next())
	for _, place := range append([]key{first}, rapid.SliceOfDistinct(aPlace, rapid.ID[key]).Draw(t, "expiring")...) {
		if last, ok := c.holds[place]; ok {
			last.Version = version
			delete(c.holds, place)
			c.expiring = append(c.expiring, last)
		}
	}
}

func (c *cluster) expireOne(t *rapid.T) {
	if len(c.expiring) > 0 {
		must(t, c.cache.Delete(podObject(t, c.expiring[0])))
		c.expiring = c.expiring[1:]
	}
}

func (c *cluster) allExpire(t *rapid.T) {
	for len(c.expiring) > 0 {
		c.expireOne(t)
	}
}

func (c *cluster) newUID() string { c.uids++; return fmt.Sprint("u", c.uids) }

// change creates or changes the object with a key, and returns its new state.
func (c *cluster) change(t *rapid.T, place key) traits {
	uid := c.holds[place].UID
	if uid == "" {
		uid = c.newUID()
	}
	c.holds[place] = someTraits(t, place, uid, c.next())
	return c.holds[place]
}

func (c *cluster) put(t *rapid.T) {
	c.allExpire(t)
	place := aPlace.Draw(t, "place")
	apply := c.cache.Update
	if _, ok := c.holds[place]; !ok {
		apply = c.cache.Add
	}
	must(t, apply(podObject(t, c.change(t, place))))
}

func (c *cluster) delete(t *rapid.T) {
	c.allExpire(t)
	if place, ok := c.somePlace(t); ok {
		last := c.holds[place]
		last.Version = strconv.Itoa(c.next())
		delete(c.holds, place)
		must(t, c.cache.Delete(podObject(t, last)))
	}
}

// recreate deletes an object and creates another one with its name. The Reflector reports only the
// second step.
func (c *cluster) recreate(t *rapid.T) {
	c.allExpire(t)
	if place, ok := c.somePlace(t); ok {
		delete(c.holds, place)
		c.next()
		must(t, c.cache.Update(podObject(t, c.change(t, place))))
	}
}

// sayAgain repeats a state that was reported, as a new watch may.
func (c *cluster) sayAgain(t *rapid.T) {
	if place, ok := c.somePlace(t); ok {
		must(t, c.cache.Update(podObject(t, c.holds[place])))
	}
}

// relist changes everything at random unnoticed, and then lists it.
func (c *cluster) relist(t *rapid.T) {
	c.expiring = nil // the list does not have them
	for _, place := range rapid.SliceOf(aPlace).Draw(t, "changed") {
		switch rapid.SampledFrom([]string{"put", "delete", "recreate"}).Draw(t, "how") {
		case "put":
			c.change(t, place)
		case "delete":
			delete(c.holds, place)
			c.next()
		case "recreate":
			delete(c.holds, place)
			c.change(t, place)
		}
	}
	if rapid.Bool().Draw(t, "others have changed too") {
		c.next()
	}
	c.list(t)
}

// rewrite changes contents without their versions, as another schema does, and lists.
func (c *cluster) rewrite(t *rapid.T) {
	for _, place := range rapid.SliceOf(aPlace).Draw(t, "rewritten") {
		if state, ok := c.holds[place]; ok {
			version, _ := strconv.Atoi(state.Version)
			c.holds[place] = someTraits(t, place, state.UID, version)
		}
	}
	c.next()
	c.list(t)
}

// restore resets the cluster to a backup: an older version, other contents.
func (c *cluster) restore(t *rapid.T) {
	if c.version < 2 {
		return
	}
	c.allExpire(t)
	c.version = rapid.IntRange(1, c.version-1).Draw(t, "restored to")
	for place, state := range c.holds {
		if n, _ := strconv.Atoi(state.Version); n > c.version {
			delete(c.holds, place)
		}
	}
	resets := make([]int, len(c.readers))
	for i, reader := range c.readers {
		reader.drain(t)
		resets[i] = reader.resets
	}
	c.list(t)
	for i, reader := range c.readers {
		if reader.drain(t); reader.resets != resets[i]+1 {
			t.Fatalf("a reader received %d RESETs, want one", reader.resets-resets[i])
		}
	}
}

func (c *cluster) list(t *rapid.T) {
	var all []any
	for _, place := range rapid.Permutation(slices.SortedFunc(maps.Keys(c.holds), key.compare)).Draw(t, "order") {
		all = append(all, podObject(t, c.holds[place]))
	}
	must(t, c.cache.Replace(all, strconv.Itoa(c.version)))
}

func (c *cluster) bookmark(t *rapid.T) {
	c.allExpire(t)
	must(t, c.cache.Bookmark(strconv.Itoa(c.next())))
}

// newReader adds a reader. Its query is often almost the one of another reader: the watchers of both
// are then in one group, and read the same changes.
func (c *cluster) newReader(t *rapid.T) {
	query := aQuery.Draw(t, "query")
	if len(c.readers) > 0 && rapid.Bool().Draw(t, "like another") {
		query = aVariationOf(t, rapid.SampledFrom(c.readers).Draw(t, "the other").query)
	}
	reader := newReader(t, c.cache, query)
	reader.rewritten = true
	c.readers = append(c.readers, reader)
}

func (c *cluster) read(t *rapid.T) {
	if len(c.readers) > 0 {
		c.readBy(t, rapid.SampledFrom(c.readers).Draw(t, "reader"))
	}
}

// glance makes a reader read what it is shown, which is less than there is if changes are held
// back.
func (c *cluster) glance(t *rapid.T) {
	if len(c.readers) > 0 {
		rapid.SampledFrom(c.readers).Draw(t, "reader").drain(t)
	}
}

// oneBatch makes a reader read at most one batch.
func (c *cluster) oneBatch(t *rapid.T) {
	if len(c.readers) > 0 {
		rapid.SampledFrom(c.readers).Draw(t, "reader").one(t)
	}
}

// show shows the held changes.
func (c *cluster) show(*rapid.T) { c.cache.showAll() }

func (c *scopeCache) showAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.watchers.wakeAll(time.Now())
}

// comeBack ends a reader's watch and begins another where that has ended.
func (c *cluster) comeBack(t *rapid.T) {
	if len(c.readers) == 0 {
		return
	}
	if r := rapid.SampledFrom(c.readers).Draw(t, "reader"); r.behind != nil {
		r.resume(t, r.point)
	}
}

// goBack makes a reader resume from an earlier point.
func (c *cluster) goBack(t *rapid.T) {
	if len(c.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(c.readers).Draw(t, "reader")
	if len(r.points) > 0 {
		r.resume(t, rapid.SampledFrom(r.points).Draw(t, "point"))
	}
}

// rescope gives a reader other namespaces, or the same ones, whatever is pending for it.
func (c *cluster) rescope(t *rapid.T) {
	if len(c.readers) == 0 {
		return
	}
	r := rapid.SampledFrom(c.readers).Draw(t, "reader")
	r.query.Namespaces = someNamespaces.Draw(t, "namespaces")
	r.rescope(t)
}

func (c *cluster) readAll(t *rapid.T) {
	for _, reader := range c.readers {
		c.readBy(t, reader)
	}
}

func (c *cluster) readBy(t *rapid.T, reader *reader) {
	c.allExpire(t)
	c.show(t)
	reader.drain(t)
	checkSame(t, c.holds.describeSelected(t, reader.query), reader.holds())
	list := listOf(t, c.cache, reader.watcher.selection)
	checkSame(t, reader.holds(), describeAll(list.Objects, reader.query.describe))
	if list.ResourceVersion != strconv.Itoa(c.version) {
		t.Fatalf("the list is at version %s, the cluster at %d", list.ResourceVersion, c.version)
	}
}

func (c *cluster) somePlace(t *rapid.T) (key, bool) {
	if len(c.holds) == 0 {
		return key{}, false
	}
	return rapid.SampledFrom(slices.SortedFunc(maps.Keys(c.holds), key.compare)).Draw(t, "place"), true
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
