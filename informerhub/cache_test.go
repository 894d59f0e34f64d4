package informerhub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// separate is a random cluster whose namespaces are cached one by one: each cache receives the changes at its own time.
type separate struct {
	scopes  []*scopeCache // of namespaces, in order
	waiting [][]func()    // changes that each has not received yet
	holds   world
	version int
	uids    int
	worlds  []world // at each version
	readers []*mergedReader
}

var separateNamespaces = []string{"a", "b", "b-c"}

// TestMergedReaders_HoldTheStateOfEachNamespace changes namespaces at random, while readers of several of them come, resume at
// earlier positions and switch to other namespaces. In each namespace a reader must hold exactly the content of its selection at
// the version of its position there, and receive each event in order and once.
func TestMergedReaders_HoldTheStateOfEachNamespace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &separate{holds: world{}, version: 7, waiting: make([][]func(), len(separateNamespaces))}
		c.worlds = make([]world, c.version+1)
		limits := someLimits.Draw(t, "limits")
		for _, name := range separateNamespaces {
			scope := cacheWithin(pods, limits)
			scope.namespace = name
			c.scopes = append(c.scopes, scope)
			must(t, scope.Replace(nil, "7"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":        c.put,
			"delete":     c.delete,
			"follow":     c.follow,
			"relist":     c.relist,
			"bookmark":   c.bookmark,
			"new reader": c.newReader,
			"read":       func(t *rapid.T) { c.some(t, (*mergedReader).one) },
			"resume":     func(t *rapid.T) { c.some(t, (*mergedReader).resume) },
			"switch":     func(t *rapid.T) { c.some(t, (*mergedReader).rescope) },
			"drain":      func(t *rapid.T) { c.some(t, (*mergedReader).drain) },
			"list":       c.list,
		})
		for i := range c.scopes {
			c.followAll(i)
		}
		for _, reader := range c.readers {
			reader.drain(t)
		}
	})
}

func (c *separate) next() int {
	c.version++
	c.worlds = append(c.worlds, maps.Clone(c.holds))
	return c.version
}

// later makes the cache of a namespace receive a change some time later. The world must be the one after the change.
func (c *separate) later(namespace string, change func(*scopeCache)) {
	c.worlds[c.version] = maps.Clone(c.holds)
	i := slices.Index(separateNamespaces, namespace)
	c.waiting[i] = append(c.waiting[i], func() { change(c.scopes[i]) })
}

func (c *separate) put(t *rapid.T) {
	place := aPlace.Draw(t, "place")
	last, existed := c.holds[place]
	if !existed {
		c.uids++
		last.UID = fmt.Sprint("u", c.uids)
	}
	c.holds[place] = someTraits(t, place, last.UID, c.next())
	object := podObject(t, c.holds[place])
	c.later(place.namespace, func(scope *scopeCache) { must(t, scope.Update(object)) })
}

func (c *separate) delete(t *rapid.T) {
	place := aPlace.Draw(t, "place")
	last, existed := c.holds[place]
	if !existed {
		return
	}
	last.Version = fmt.Sprint(c.next())
	delete(c.holds, place)
	object := podObject(t, last)
	c.later(place.namespace, func(scope *scopeCache) { must(t, scope.Delete(object)) })
}

func (c *separate) follow(t *rapid.T) {
	if i := c.aScope(t); len(c.waiting[i]) > 0 {
		c.waiting[i][0]()
		c.waiting[i] = c.waiting[i][1:]
	}
}

func (c *separate) followAll(i int) {
	for _, change := range c.waiting[i] {
		change()
	}
	c.waiting[i] = nil
}

// relist makes a namespace skip the changes that it has not received.
func (c *separate) relist(t *rapid.T) {
	i := c.aScope(t)
	var objects []*Object
	for _, state := range c.holds.selected(t, Query{Namespace: separateNamespaces[i]}) {
		objects = append(objects, podObject(t, state))
	}
	c.waiting[i] = nil
	must(t, c.scopes[i].Replace(items(objects...), fmt.Sprint(c.version)))
}

func (c *separate) bookmark(t *rapid.T) {
	i := c.aScope(t)
	c.followAll(i)
	must(t, c.scopes[i].Bookmark(fmt.Sprint(c.version)))
}

func (c *separate) aScope(t *rapid.T) int { return rapid.IntRange(0, len(c.scopes)-1).Draw(t, "scope") }

// view returns a cache of some of the namespaces.
func (c *separate) view(t *rapid.T) *Cache {
	var scopes []*scopeCache
	for len(scopes) == 0 {
		for i, included := range rapid.SliceOfN(rapid.Bool(), len(c.scopes), len(c.scopes)).Draw(t, "view") {
			if included {
				scopes = append(scopes, c.scopes[i])
			}
		}
	}
	return newCache(pods, scopes...)
}

func (c *separate) newReader(t *rapid.T) {
	r := &mergedReader{of: c, view: c.view(t), query: Query{
		LabelSelector: rapid.OneOf(rapid.Just(""), aRequirement).Draw(t, "labels"), Filter: aFilter.Draw(t, "filter"),
	}}
	r.watch(t, nil)
	c.readers = append(c.readers, r)
}

func (c *separate) some(t *rapid.T, do func(*mergedReader, *rapid.T)) {
	if len(c.readers) > 0 {
		do(rapid.SampledFrom(c.readers).Draw(t, "reader"), t)
	}
}

// list reads lists in all ways, and compares them with each other and with the world.
func (c *separate) list(t *rapid.T) {
	view, query := c.view(t), Query{LabelSelector: rapid.OneOf(rapid.Just(""), aRequirement).Draw(t, "labels")}
	sel, err := view.Select(t.Context(), query)
	must(t, err)
	snapshot, err := view.List(t.Context(), sel)
	must(t, err)
	want := c.selectedAt(t, view, query, snapshot.Position)
	if got := describeAll(snapshot.Objects, describeObject); !slices.Equal(got, want) {
		t.Fatalf("the list of %v has %q, want %q", view.Namespaces(), got, want)
	}
	again, err := view.ListAt(t.Context(), sel, snapshot.Position)
	if errors.Is(err, ErrForgotten) {
		return
	}
	must(t, err)
	var pages []*Object
	var after ObjectName
	for more := true; more; {
		var page []*Object
		page, more, err = view.ListBehind(t.Context(), sel, snapshot.Position, after, rapid.IntRange(1, 4).Draw(t, "page"), rapid.SampledFrom([]int{1, 1000, maxInt}).Draw(t, "bytes"))
		must(t, err)
		if pages = append(pages, page...); len(page) > 0 {
			last := page[len(page)-1]
			after = ObjectName{Namespace: last.Namespace(), Name: last.Name()}
		}
	}
	var names []ObjectName
	for _, object := range snapshot.Objects {
		names = append(names, ObjectName{Namespace: object.Namespace(), Name: object.Name()})
	}
	named, err := view.ListNamed(t.Context(), snapshot.Position, names, maxInt)
	must(t, err)
	for name, objects := range map[string][]*Object{"ListAt": again.Objects, "ListBehind": pages, "ListNamed": named} {
		if got := describeAll(objects, describeObject); !slices.Equal(got, want) {
			t.Fatalf("%s has %q, want %q", name, got, want)
		}
	}
}

// selectedAt returns what a selection has in each namespace of a view at the version that was read there.
func (c *separate) selectedAt(t tester, view *Cache, query Query, at Position) (want []string) {
	for _, scope := range view.scopes {
		position, known := at.In(scope.namespace)
		if !known {
			t.Fatalf("the position %+v has nothing of %s", at, scope.namespace)
		}
		query.Namespace = scope.namespace
		want = append(want, c.worlds[max(7, numberOf(position.Through))].describeSelected(t, query)...)
	}
	return want
}

// mergedReader is a reader of some namespaces.
type mergedReader struct {
	of      *separate
	view    *Cache
	query   Query
	watcher *Watcher
	state   mergedState
	points  []mergedState // that it can return to
}

// mergedState is what a reader has.
type mergedState struct {
	view *Cache
	at   Position
	// through is the version that was read if the view has one namespace: see Batch.
	through string
	held    map[string]string // descriptions, by key
	synced  bool
	seen    map[string]int // the newest version in each namespace
	bottom  map[string]int // the version of the last bookmark in each namespace: no event is at or below it
}

func (s mergedState) clone() mergedState {
	s.held, s.seen, s.bottom = maps.Clone(s.held), maps.Clone(s.seen), maps.Clone(s.bottom)
	return s
}

func (r *mergedReader) watch(t tester, since *Position) {
	sel, err := r.view.Select(context.Background(), r.query)
	must(t, err)
	r.watcher = r.view.Watch(sel, WatchOptions{Bookmarks: time.Hour, Since: since})
}

// one reads one batch, if there is any.
func (r *mergedReader) one(t *rapid.T) { r.read(t) }

func (r *mergedReader) read(t *rapid.T) bool {
	batch, err := r.watcher.NextUntil(t.Context(), closed)
	if errors.Is(err, ErrInterrupted) {
		return false
	}
	must(t, err)
	for i, event := range batch.Events {
		r.apply(t, event)
		position, ok := batch.PositionAfter(i)
		if !ok {
			continue
		}
		r.state.at, r.state.through, r.state.view = position, batch.Through, r.view
		r.points = append(r.points, r.state.clone())
		if event.Type != Bookmark && event.Type != Synced {
			continue
		}
		r.check(t, "at a bookmark")
		for _, scope := range r.view.scopes {
			at, _ := position.In(scope.namespace)
			r.state.bottom[scope.namespace] = numberOf(at.Version)
		}
		if got := numberOf(event.ResourceVersion); event.Type == Bookmark && got != numberOf(position.Version) {
			t.Fatalf("a bookmark at %d has the position %+v", got, position)
		}
	}
	return true
}

func (r *mergedReader) apply(t *rapid.T, event Event) {
	switch event.Type {
	case Reset:
		r.state = mergedState{held: map[string]string{}, seen: map[string]int{}, bottom: map[string]int{}}
	case Synced:
		r.state.synced = true
	case Added, Modified, Deleted:
		namespace, version := event.Object.Namespace(), numberOf(event.ResourceVersion)
		if !slices.Contains(r.view.names(), namespace) {
			t.Fatalf("an event of %s", event.Object.Key())
		}
		if version <= r.state.bottom[namespace] || r.state.synced && version < r.state.seen[namespace] {
			t.Fatalf("%v of %s at %d, after a bookmark at %d and events at %d", event.Type, event.Object.Key(), version, r.state.bottom[namespace], r.state.seen[namespace])
		}
		r.state.seen[namespace] = version
		if delete(r.state.held, event.Object.Key()); event.Type != Deleted {
			r.state.held[event.Object.Key()] = describeObject(event.Object)
		}
	}
}

// names returns the namespaces of a view of scopes.
func (c *Cache) names() (names []string) {
	for _, scope := range c.scopes {
		names = append(names, scope.namespace)
	}
	return names
}

// check compares what the reader holds with the world at its position.
func (r *mergedReader) check(t tester, when string) {
	if !r.state.synced {
		t.Fatalf("%s: no SYNCED", when)
	}
	at := r.state.at
	if at.Namespaces == nil && r.state.through != "" {
		at.Version = r.state.through
	}
	want := r.of.selectedAt(t, r.view, r.query, at)
	got := slices.Sorted(maps.Values(r.state.held))
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Fatalf("%s: the reader of %v holds\n%s\nwant\n%s\nat %+v", when, r.view.names(), strings.Join(got, "\n"), strings.Join(want, "\n"), r.state.at)
	}
}

// resume continues at an earlier point, after which the reader holds what it held there.
func (r *mergedReader) resume(t *rapid.T) {
	if len(r.points) == 0 {
		return
	}
	point := rapid.SampledFrom(r.points).Draw(t, "point").clone()
	r.watcher.Close()
	if !slices.Equal(point.view.scopes, r.view.scopes) && rapid.Bool().Draw(t, "in its namespaces") {
		r.view = point.view
	}
	if !slices.Equal(point.view.scopes, r.view.scopes) {
		point = mergedState{held: map[string]string{"nothing": "of these namespaces"}}
		r.state = point
		r.watch(t, nil)
		return
	}
	r.state = point
	r.watch(t, &point.at)
}

// rescope switches to other namespaces.
func (r *mergedReader) rescope(t *rapid.T) {
	r.view = r.of.view(t)
	sel, err := r.view.Select(t.Context(), r.query)
	must(t, err)
	r.watcher.Restart(sel)
	r.state = mergedState{}
}

// drain reads everything, and a bookmark.
func (r *mergedReader) drain(t *rapid.T) {
	r.watcher.Flush()
	for range 100_000 {
		if !r.read(t) {
			if r.watcher.IsFlushing() {
				t.Fatal("the watcher does not end to flush")
			}
			r.check(t, "in the end")
			return
		}
	}
	t.Fatal("the watcher has no end of events")
}
