package informerhub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader is the client of one watcher: it applies the delivered events, and checks each step
// against the guarantees of package informerhub.
type reader struct {
	query   Query
	watcher *scopeWatcher
	cache   *scopeCache
	point

	latest bool // the events are latest states, not steps
	over   bool // the events switch to another selection
	resets int
	begun  int // number of watches without a position
	// points are positions from which the stream can be resumed, with the reader's state there.
	points  []point
	resumed bool // since the last RESET
	// rewritten allows contents to change without their versions.
	rewritten bool
}

// point is the reader's state at one point of its stream.
type point struct {
	behind     *Position // where the stream can be resumed; nil if it cannot
	held       map[key]*Object
	delivered  map[string]bool // the changes since the last RESET
	started    bool            // RESET was received, and no SYNCED yet
	version    int             // of the last event; 0 in a snapshot
	bookmarked int             // the version of the last bookmark
}

// keptPoints is the number of points that a reader can return to.
const keptPoints = 20

func newReader(t tester, c *scopeCache, query Query) *reader {
	t.Helper()
	r := &reader{query: query, cache: c}
	r.watch(t, nil)
	return r
}

// watch begins a watch, from a position unless it is nil.
func (r *reader) watch(t tester, since *Position) {
	t.Helper()
	if r.watcher != nil {
		r.watcher.Close()
	}
	if since == nil {
		r.begun++
	}
	r.watcher = r.cache.watch(selectFrom(t, r.cache, r.query), WatchOptions{Bookmarks: time.Hour, Since: since})
}

// closed interrupts a watcher instead of waiting.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// rescope switches to other namespaces of the query, and checks that no event or object of the
// others remains.
func (r *reader) rescope(t tester) {
	t.Helper()
	to := selectFrom(t, r.cache, r.query)
	r.watcher.Rescope(to)
	r.points = nil
	r.delivered = make(map[string]bool) // objects of added namespaces are sent again
	r.drain(t)
	for _, held := range r.held {
		if !to.includesNamespace(held.Namespace()) {
			t.Fatalf("%s is held, but is not in %q", held.Key(), r.query.Namespaces)
		}
	}
}

// drain reads everything that is pending, without waiting for more, and returns it as text.
func (r *reader) drain(t tester) (lines []string) {
	t.Helper()
	lines, err := r.rest(t)
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("the watch has ended: %v", err)
	}
	return lines
}

// rest is like drain, for a watch that may have ended.
func (r *reader) rest(t tester) (lines []string, err error) {
	t.Helper()
	for {
		batch, err := r.watcher.NextUntil(context.Background(), closed)
		if err != nil {
			return lines, err
		}
		lines = append(lines, r.take(t, batch)...)
	}
}

// one reads one batch, if one is pending.
func (r *reader) one(t tester) {
	t.Helper()
	batch, err := r.watcher.NextUntil(context.Background(), closed)
	switch {
	case err == nil:
		r.take(t, batch)
	case !errors.Is(err, ErrInterrupted):
		t.Fatalf("the watch has ended: %v", err)
	}
}

// take applies a batch.
func (r *reader) take(t tester, batch Batch) (lines []string) {
	t.Helper()
	r.latest, r.over = batch.compacted, batch.rescoped
	for i, event := range batch.Events {
		lines = append(lines, describeEvent(event))
		if wrong := r.apply(event); wrong != "" {
			t.Fatalf("after %v: %s", lines, wrong)
		}
		position, ok := batch.PositionAfter(i)
		if r.behind = nil; ok {
			r.behind = &position
			r.keepPoint()
		}
	}
	return lines
}

func (r *reader) keepPoint() {
	kept := r.point
	kept.held, kept.delivered = maps.Clone(r.held), maps.Clone(r.delivered)
	r.points = append(r.points, kept)
	if len(r.points) > keptPoints {
		r.points = r.points[1:]
	}
}

// resume ends the reader's watch and begins another one at an earlier point.
func (r *reader) resume(t tester, from point) {
	t.Helper()
	r.resumed = true
	r.point = from
	r.held, r.delivered = maps.Clone(from.held), maps.Clone(from.delivered)
	for change := range r.delivered { // events after the position may be repeated deletions
		if _, version, _ := strings.Cut(change, "@"); numberOf(version) > numberOf(from.behind.Version) {
			delete(r.delivered, change)
		}
	}
	r.watch(t, from.behind)
}

func describeEvent(event Event) string {
	kind := [...]string{"?", "ADDED", "MODIFIED", "DELETED", "RESET", "SYNCED", "BOOKMARK"}[event.Type]
	if event.Object == nil {
		return fmt.Sprintf("%s at %s", kind, event.ResourceVersion)
	}
	return fmt.Sprintf("%s %s@%s at %s", kind, event.Object.Key(), event.Object.ResourceVersion(), event.ResourceVersion)
}

// apply applies an event, and returns what is wrong with it.
func (r *reader) apply(event Event) (wrong string) {
	switch event.Type {
	case Reset:
		r.held, r.delivered, r.started, r.version = make(map[key]*Object), make(map[string]bool), true, 0
		r.bookmarked, r.resumed = 0, false
		r.resets++
		return ""
	case Synced:
		r.started, wrong = false, r.when(!r.started, "SYNCED without RESET")
	case Bookmark:
		wrong = r.when(r.started, "BOOKMARK in a snapshot") + r.when(numberOf(event.ResourceVersion) < r.bookmarked, "a bookmark before the last one")
		r.bookmarked = numberOf(event.ResourceVersion)
		if r.held == nil {
			return "the first event is no RESET"
		}
		return wrong // it may be before deletions at a version that has others
	default:
		wrong = r.applyObject(event)
	}
	if r.held == nil {
		return "the first event is no RESET"
	}
	if wrong == "" && !r.started {
		wrong = r.moveOn(event)
	}
	return wrong
}

func (r *reader) applyObject(event Event) string {
	object := event.Object
	place := key{object.Namespace(), object.Name()}
	if !r.over && !r.started && numberOf(event.ResourceVersion) <= r.bookmarked {
		return fmt.Sprintf("it comes after a bookmark at %d", r.bookmarked)
	}
	held, ok := r.held[place]
	if event.Type == Deleted && !ok && r.resumed {
		return "" // it may be repeated, with a later version at a replica that has relisted
	}
	r.held[place] = object
	if before := event.Before; before != nil && (!ok || event.Type != Modified || !before.SameContent(held) || r.query.describe(before) != r.query.describe(held)) {
		return "what was before is not what is held"
	}
	if change := object.UID() + "@" + event.ResourceVersion; r.delivered[change] {
		return "the change of " + change + " was delivered before"
	} else if r.delivered != nil {
		r.delivered[change] = true
	}
	if r.latest { // then the earlier state is unknown: see Selection.latestStateEvent
		if event.Type == Deleted {
			delete(r.held, place)
		}
		return r.when(ok && numberOf(event.ResourceVersion) <= numberOf(held.ResourceVersion()), "the object went back, or came twice") +
			r.when(ok && event.Type == Deleted && held.UID() != object.UID(), "DELETED is of another object than the one that is held")
	}
	switch event.Type {
	case Added:
		return r.when(ok, "ADDED is held already") + r.when(event.ResourceVersion != object.ResourceVersion() && !r.over && !r.rewritten, "ADDED at another version")
	case Modified:
		return r.when(!ok, "MODIFIED is not held") + r.when(ok && held.UID() != object.UID(), "MODIFIED to another UID") +
			r.when(ok && !isLater(event, held), "the object went back, or came twice") +
			r.when(ok && r.query.Fields != nil && r.query.describe(object) == r.query.describe(held), "MODIFIED changes nothing under the mask")
	}
	delete(r.held, place)
	if r.over {
		return r.when(!ok || held.UID() != object.UID(), "DELETED is not held")
	}
	return r.when(!ok || r.query.describe(held) != r.query.describe(object), "DELETED is not the object that was held")
}

// isLater reports whether an event has a later state of the object than the held one. Another
// content of the same version has the version of the relist that found it.
func isLater(event Event, held *Object) bool {
	if event.Object.ResourceVersion() == held.ResourceVersion() {
		return numberOf(event.ResourceVersion) > numberOf(held.ResourceVersion())
	}
	return numberOf(event.Object.ResourceVersion()) > numberOf(held.ResourceVersion())
}

// moveOn checks the order of versions.
func (r *reader) moveOn(event Event) string {
	next := numberOf(event.ResourceVersion)
	went := r.when(next < r.version, fmt.Sprintf("version %d after %d", next, r.version))
	r.version = next
	return went
}

func (r *reader) when(wrong bool, text string) string {
	if wrong {
		return text
	}
	return ""
}

// numberOf returns a version as a number; tests use only numbers.
func numberOf(version string) int {
	n, err := strconv.Atoi(version)
	if err != nil {
		panic(err)
	}
	return n
}

// holds returns the objects that the reader holds, in order.
func (r *reader) holds() []string {
	var lines []string
	for _, place := range slices.SortedFunc(maps.Keys(r.held), key.compare) {
		lines = append(lines, r.query.describe(r.held[place]))
	}
	return lines
}
