package informerhub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// reader is a caller of one watcher: it applies what it is told, and checks each
// step against what package informerhub promises.
type reader struct {
	query   Query
	watcher *Watcher
	cache   *Cache

	held   map[key]*Object
	told   map[string]bool // the changes since the last RESET
	latest bool            // what comes is latest states rather than steps
	over   bool            // what comes leads to another selection
	// rewritten says that contents may change without their versions.
	rewritten bool
	behind    *Position // everything it was told
	resets    int
	started   bool // RESET has come, and no SYNCED yet
	version   int  // of the last event; 0 in a snapshot
}

func newReader(t tester, c *Cache, query Query) *reader {
	t.Helper()
	return &reader{query: query, cache: c, watcher: c.Watch(selectFrom(t, c, query), WatchOptions{Bookmarks: time.Hour})}
}

// rescope goes over to other namespaces of the query, and checks that nothing of the
// others is told or held afterwards.
func (r *reader) rescope(t tester) {
	t.Helper()
	to := selectFrom(t, r.cache, r.query)
	r.watcher.Rescope(to)
	r.told = make(map[string]bool) // what is regained is told again
	r.drain(t)
	for _, held := range r.held {
		if !to.reaches(held) {
			t.Fatalf("%s is held, and is not in %q", held.key(), r.query.Namespaces)
		}
	}
}

// drain reads all that waits, without waiting for more, and answers it as text.
func (r *reader) drain(t tester) (lines []string) {
	t.Helper()
	lines, err := r.rest(t)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the watch has ended: %v", err)
	}
	return lines
}

// rest is drain for a watch that may have ended.
func (r *reader) rest(t tester) (lines []string, err error) {
	t.Helper()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		batch, err := r.watcher.Next(cancelled)
		if err != nil {
			return lines, err
		}
		r.latest, r.over, r.behind = batch.latest, batch.rescoped, &batch.Position
		for _, event := range batch.Events {
			lines = append(lines, describeEvent(event))
			if wrong := r.apply(event); wrong != "" {
				t.Fatalf("after %v: %s", lines, wrong)
			}
		}
	}
}

func describeEvent(event Event) string {
	kind := [...]string{"?", "ADDED", "MODIFIED", "DELETED", "RESET", "SYNCED", "BOOKMARK"}[event.Type]
	if event.Object == nil {
		return fmt.Sprintf("%s at %s", kind, event.ResourceVersion)
	}
	return fmt.Sprintf("%s %s@%s at %s", kind, event.Object.key(), event.Object.version, event.ResourceVersion)
}

// apply takes one event in, and says what is wrong with it.
func (r *reader) apply(event Event) (wrong string) {
	switch event.Type {
	case Reset:
		r.held, r.told, r.started, r.version = make(map[key]*Object), make(map[string]bool), true, 0
		r.resets++
		return ""
	case Synced:
		r.started, wrong = false, r.when(!r.started, "SYNCED without RESET")
	case Bookmark:
		wrong = r.when(r.started, "BOOKMARK in a snapshot")
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
	place := key{object.namespace, object.name}
	held, ok := r.held[place]
	r.held[place] = object
	if before := event.Before; before != nil && (!ok || event.Type != Modified || !bytes.Equal(before.raw, held.raw) || r.query.told(before) != r.query.told(held)) {
		return "what was before is not what is held"
	}
	if change := object.uid + "@" + event.ResourceVersion; r.told[change] {
		return "the change of " + change + " was told before"
	} else if r.told != nil {
		r.told[change] = true
	}
	if r.latest { // then what was held is not known: see Selection.catchUp
		if event.Type == Deleted {
			delete(r.held, place)
		}
		return r.when(ok && numberOf(event.ResourceVersion) <= numberOf(held.version), "the object went back, or came twice")
	}
	switch event.Type {
	case Added:
		return r.when(ok, "ADDED is held already") + r.when(event.ResourceVersion != object.version && !r.over && !r.rewritten, "ADDED at another version")
	case Modified:
		return r.when(!ok, "MODIFIED is not held") + r.when(ok && held.uid != object.uid, "MODIFIED to another UID") +
			r.when(ok && !isLater(event, held), "the object went back, or came twice") +
			r.when(ok && r.query.Fields != nil && r.query.told(object) == r.query.told(held), "MODIFIED changes nothing under the mask")
	}
	delete(r.held, place)
	if r.over {
		return r.when(!ok || held.uid != object.uid, "DELETED is not held")
	}
	return r.when(!ok || r.query.told(held) != r.query.told(object), "DELETED is not the object that was held")
}

// isLater reports whether an event has a later state of the object than the one that is
// held: another content of the same version has the version of the relist that found it.
func isLater(event Event, held *Object) bool {
	if event.Object.version == held.version {
		return numberOf(event.ResourceVersion) > numberOf(held.version)
	}
	return numberOf(event.Object.version) > numberOf(held.version)
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

// numberOf is a version as a number; tests give out no others.
func numberOf(version string) int {
	n, err := strconv.Atoi(version)
	if err != nil {
		panic(err)
	}
	return n
}

// holds is what the reader holds, in order.
func (r *reader) holds() []string {
	var lines []string
	for _, place := range slices.SortedFunc(maps.Keys(r.held), key.compare) {
		lines = append(lines, r.query.told(r.held[place]))
	}
	return lines
}
