package informerhub

import (
	"context"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// WatchOptions configure a watcher.
type WatchOptions struct {
	// Bookmarks is the time after a Bookmark or a Synced at which Next returns the next Bookmark: at
	// once if no event is pending, and otherwise behind the next batch after which the stream can be
	// resumed. Zero is the default, 5 seconds.
	Bookmarks time.Duration
	// Since is the position to resume from; nil to begin with a snapshot.
	Since *Position
	// SinceTimeout bounds the wait for a cache that is older than Since, while the API server cannot be
	// asked whether it has ever reached that version. After that, Next fails with a
	// [discovery.UnavailableError]: beginning with a snapshot would take the caller back in time.
	SinceTimeout time.Duration
}

const defaultBookmarks = 5 * time.Second

// Watcher follows a selection. It is only a cursor in the feed of each namespace: it has no queue and no
// goroutine, and cannot slow down the cache or another watcher. It is not safe for concurrent use.
type Watcher struct {
	options WatchOptions
	reader  watchReader // nil for a selection of another cache
}

// watchReader follows a selection in one scope, or in several: a scopeWatcher or a mergedWatcher. Its methods are described
// at [Watcher].
type watchReader interface {
	NextUntil(ctx context.Context, interrupt <-chan struct{}) (Batch, error)
	RequestBookmark()
	Flush()
	IsFlushing() bool
	Close()
}

// Next blocks until events are available and returns the pending ones, at most as many as a watcher
// takes at once. A stream begins with Reset, the snapshot in parts, and Synced. It does so again
// when the feed cannot continue from the watcher's cursor. For a watcher that resumes from a
// position, the first batches have the events since then, and a Bookmark follows as soon as none of
// the events is left that were pending when it began. Next fails when the context ends. It fails with the error that ended the cache, after
// all events up to the end have been delivered.
//
// If the context ends, no event is consumed: the next call resumes at the same cursor, and the
// bookmark timer keeps running.
func (w *Watcher) Next(ctx context.Context) (Batch, error) { return w.NextUntil(ctx, nil) }

// NextUntil is like Next, but fails with [ErrInterrupted] instead of waiting for events once the
// channel interrupt is closed. Pending events are returned nevertheless. A nil channel never
// interrupts.
func (w *Watcher) NextUntil(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
	if w.reader == nil {
		return Batch{}, ErrForeignSelection
	}
	return w.reader.NextUntil(ctx, interrupt)
}

// Flush makes the next calls of Next return without waiting: first all changes up to the feed's end,
// also those that are held back during a burst, and then, if there were none, a Bookmark. After
// that, IsFlushing reports false and Next waits again.
func (w *Watcher) Flush() { w.reader.Flush() }

// IsFlushing reports whether changes that were there at the last call of Flush may be pending.
func (w *Watcher) IsFlushing() bool { return w.reader.IsFlushing() }

// RequestBookmark makes Next return a Bookmark as if the time for it had come; see
// WatchOptions.Bookmarks.
func (w *Watcher) RequestBookmark() { w.reader.RequestBookmark() }

// Rescope switches the watcher to a selection that differs only in Namespaces. The next batch has
// the difference, at one sequence number of the feed: the pending changes in namespaces of both
// selections; Deleted, without content, for the caller's objects in removed namespaces; and Added
// for the objects in added namespaces. Pending changes in removed namespaces are dropped. If the
// feed cannot continue from the watcher's cursor, or if one of the selections is of a cache of several
// namespaces, the next batch is Reset and a snapshot. The selection can be of another cache of the resource.
func (w *Watcher) Rescope(next *Selection) { w.switchTo(next, (*scopeWatcher).Rescope) }

// Restart switches the watcher to a selection as Rescope does, but always with Reset and a
// snapshot, because the caller has not been sent everything that Next has returned.
func (w *Watcher) Restart(next *Selection) { w.switchTo(next, (*scopeWatcher).Restart) }

// switchTo switches to a selection: within the scope if that is the same, and otherwise with another reader.
func (w *Watcher) switchTo(next *Selection, within func(*scopeWatcher, *Selection)) {
	if one, ok := w.reader.(*scopeWatcher); ok && len(next.parts) == 1 && next.parts[0].cache == one.cache {
		within(one, next.parts[0])
		return
	}
	flushing := w.IsFlushing()
	w.Close()
	w.options.Since = nil
	if w.reader = next.of.reader(next, w.options); flushing {
		w.reader.Flush()
	}
}

// Close removes the watcher from the cache.
func (w *Watcher) Close() {
	if w.reader != nil {
		w.reader.Close()
	}
}

// mergedWatcher follows a selection in several namespaces, each by a scopeWatcher. It delivers the batches of these in turn:
//
//   - A snapshot is that of each namespace after the other: one Reset, all objects, one Synced. The changes in the namespaces
//     before wait meanwhile.
//   - A Reset in one of the namespaces makes it begin again in all of them.
//   - While one namespace is where a stream cannot be resumed, only its batches are delivered.
//   - A Bookmark follows when each namespace has one.
type mergedWatcher struct {
	// Set once.
	cache     *Cache
	selection *Selection
	options   WatchOptions

	parts []mergedPart // one for each namespace of the cache
	began bool
	// only is the index of the only part that is read: of the one whose snapshot is delivered, or that a stream cannot be
	// resumed in; -1 if all are.
	only         int
	turn         int // index of the part that is read next
	snapshotting bool
	resetSent    bool // of the snapshot

	bookmarkDue bool
	bookmarkBy  time.Time // zero until the first Synced or Bookmark
	flushing    bool
	warner      warner
}

// mergedPart is one namespace of a mergedWatcher.
type mergedPart struct {
	watcher   *scopeWatcher
	at        NamespacePosition // after what was delivered
	freshness Freshness         // of what was read last
	pending   bool              // there may be something to read
	reset     bool              // its Reset was read
	requested bool              // its Bookmark was requested for the next one of the stream
	marked    bool              // its Bookmark was read for the next one of the stream
}

func newMergedWatcher(cache *Cache, sel *Selection, options WatchOptions) *mergedWatcher {
	if options.Bookmarks <= 0 {
		options.Bookmarks = defaultBookmarks
	}
	m := &mergedWatcher{cache: cache, selection: sel, options: options}
	since := options.Since
	for _, scope := range cache.scopes {
		if since == nil {
			break
		}
		if _, known := since.In(scope.namespace); !known {
			since = nil // begins with a snapshot
		}
	}
	m.restart(since)
	return m
}

// restart makes the watcher begin, at a position or with a snapshot.
func (m *mergedWatcher) restart(since *Position) {
	m.Close()
	m.parts, m.began, m.turn = make([]mergedPart, len(m.cache.scopes)), false, 0
	m.snapshotting, m.resetSent, m.only = since == nil, false, -1
	if m.snapshotting {
		m.only = 0
	}
	for i, scope := range m.cache.scopes {
		options := WatchOptions{Bookmarks: ownBookmarks, SinceTimeout: m.options.SinceTimeout}
		if since != nil {
			at, _ := since.In(scope.namespace)
			options.Since, m.parts[i].at = &at.Position, at
		}
		m.parts[i].at.Namespace = scope.namespace
		m.parts[i].watcher, m.parts[i].pending = scope.watch(m.selection.parts[i], options), true
	}
	m.bookmarkDue, m.bookmarkBy = !m.snapshotting, time.Time{}
	if m.flushing {
		m.Flush()
	}
}

// ownBookmarks is the interval of the bookmarks of a part, which are requested when those of the stream are due.
const ownBookmarks = 24 * time.Hour

// maxBeginnings bounds the namespaces of a watcher that resume at the same time: each can ask the API server.
const maxBeginnings = 16

// begin sets the first cursors of a watcher that resumes. Snapshots begin one after the other.
func (m *mergedWatcher) begin(ctx context.Context) error {
	if m.began || m.snapshotting {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(maxBeginnings)
	for i := range m.parts {
		if w := m.parts[i].watcher; w.group == nil {
			all.Go(func() error { return w.begin(ctx) })
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	m.began = true
	return nil
}

// Flush implements watchReader.
func (m *mergedWatcher) Flush() {
	m.flushing, m.bookmarkDue = true, true
	for i := range m.parts {
		m.parts[i].watcher.Flush()
		m.parts[i].pending = true
	}
}

// IsFlushing implements watchReader.
func (m *mergedWatcher) IsFlushing() bool {
	return m.flushing && (m.snapshotting || slices.ContainsFunc(m.parts, func(p mergedPart) bool { return p.watcher.IsFlushing() }))
}

// RequestBookmark implements watchReader.
func (m *mergedWatcher) RequestBookmark() { m.bookmarkDue = true }

// Close implements watchReader.
func (m *mergedWatcher) Close() {
	for i := range m.parts {
		m.parts[i].watcher.Close()
	}
}

// NextUntil implements watchReader.
func (m *mergedWatcher) NextUntil(ctx context.Context, interrupt <-chan struct{}) (Batch, error) {
	if err := m.begin(ctx); err != nil {
		return Batch{}, err
	}
	for {
		if m.owesBookmark() && m.collectBookmarks() {
			return m.deliver(m.bookmark()), nil
		}
		batch, err := m.read(ctx)
		switch {
		case err != nil:
			return Batch{}, err
		case len(batch.Events) > 0:
			return m.deliver(batch), nil
		case m.owesBookmark():
			continue // each namespace has its bookmark now
		}
		if err := m.wait(ctx, interrupt); err != nil {
			return Batch{}, err
		}
	}
}

// owesBookmark reports whether a Bookmark is due, and can be sent.
func (m *mergedWatcher) owesBookmark() bool {
	return m.only < 0 && (m.bookmarkDue || !m.bookmarkBy.IsZero() && !time.Now().Before(m.bookmarkBy))
}

// collectBookmarks requests the bookmarks of the namespaces. It reports whether each has one.
func (m *mergedWatcher) collectBookmarks() (all bool) {
	all = true
	for i := range m.parts {
		part := &m.parts[i]
		if !part.marked && !part.requested {
			part.watcher.RequestBookmark()
			part.requested, part.pending = true, true
		}
		all = all && part.marked
	}
	return all
}

// bookmark returns a batch with a Bookmark after everything that was delivered.
func (m *mergedWatcher) bookmark() Batch {
	position := m.position()
	following := bookmark(position, m.freshness())
	following.Through = position.through()
	return following
}

// deliver completes a batch that is about to be returned.
func (m *mergedWatcher) deliver(batch Batch) Batch {
	m.warner.count(batch)
	if batch.hasSyncedOrBookmark() {
		m.bookmarkDue, m.bookmarkBy, m.flushing = false, time.Now().Add(m.options.Bookmarks), false
		for i := range m.parts {
			m.parts[i].requested, m.parts[i].marked = false, false
		}
	}
	batch.Warnings = m.warner.warnings(batch, m.options.Bookmarks)
	return batch
}

// closedChannel interrupts each wait.
var closedChannel = func() chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}()

// read returns the next batch of a namespace; without events if there is none.
func (m *mergedWatcher) read(ctx context.Context) (Batch, error) {
	for {
		i := m.nextPending()
		if i < 0 {
			return Batch{}, nil
		}
		batch, err := m.parts[i].watcher.NextUntil(ctx, closedChannel)
		switch {
		case err == ErrInterrupted:
			m.parts[i].pending = false
			continue
		case err != nil:
			return Batch{}, err
		}
		m.turn = (i + 1) % len(m.parts)
		if merged := m.merge(i, batch); len(merged.Events) > 0 {
			return merged, nil
		}
	}
}

// nextPending returns the index of the part to read; -1 if there is nothing to read.
func (m *mergedWatcher) nextPending() int {
	if m.only >= 0 {
		if m.parts[m.only].pending {
			return m.only
		}
		return -1
	}
	for n := range m.parts {
		if i := (m.turn + n) % len(m.parts); m.parts[i].pending {
			return i
		}
	}
	return -1
}

// merge returns a batch of a namespace as one of the stream. It has no events if they are not delivered: a Bookmark, for
// example.
func (m *mergedWatcher) merge(i int, batch Batch) Batch {
	part, events := &m.parts[i], batch.Events
	if events[0].Type == Reset {
		if !m.snapshotting || part.reset {
			m.restart(nil)
			return Batch{}
		}
		part.reset = true
		if m.resetSent {
			events = events[1:]
		}
		m.resetSent = true
	}
	position, resumable := batch.PositionAfter(len(batch.Events) - 1)
	if resumable {
		part.at.Position, part.at.Through = position, newerVersion(position.Version, batch.Through)
	}
	part.freshness = batch.Freshness
	if len(events) > 0 {
		switch last := len(events) - 1; events[last].Type {
		case Bookmark:
			// One that was not requested shows that a stream can be resumed again, or that it waits for history.
			m.bookmarkDue = m.bookmarkDue || !part.requested
			part.marked, events = true, events[:last]
		case Synced:
			events = events[:last]
			m.endPart()
			if !m.snapshotting {
				events = append(slices.Clone(events), Event{Type: Synced, ResourceVersion: m.position().through()})
			}
		}
	}
	if !m.snapshotting {
		if m.only = -1; !resumable {
			m.only = i
		}
	}
	if len(events) == 0 {
		return Batch{} // not delivered
	}
	merged := batch
	merged.Events, merged.Position, merged.Freshness = events, m.position(), m.freshness()
	merged.Through, merged.shared, merged.deletion = merged.Position.through(), nil, Deletion{}
	merged.unresumable = m.snapshotting || m.only >= 0
	if !batch.snapshot {
		merged.part = &batchPart{batch, i}
	}
	if batch.Freshness == (Freshness{}) {
		merged.Freshness = Freshness{}
	}
	return merged
}

// endPart ends the snapshot of a namespace, and begins that of the next one.
func (m *mergedWatcher) endPart() {
	if m.only++; m.only == len(m.parts) {
		m.only, m.snapshotting, m.began = -1, false, true
	}
}

// position returns the position after what was delivered in each namespace. It is not one to resume at while
// a snapshot is sent.
func (m *mergedWatcher) position() Position {
	positions := make([]NamespacePosition, len(m.parts))
	for i := range m.parts {
		positions[i] = m.parts[i].at
	}
	return mergedPosition(positions)
}

// freshness returns how current what was delivered is: as stale as one of the caches, and as old as what was read least recently.
func (m *mergedWatcher) freshness() Freshness {
	fresh := m.cache.Freshness()
	for i := range m.parts {
		if m.parts[i].freshness != (Freshness{}) {
			fresh = worst([]Freshness{m.parts[i].freshness}, fresh)
		}
	}
	return fresh
}

// wait blocks until a part has something to read, or a Bookmark is due. It takes a microsecond for ten namespaces.
func (m *mergedWatcher) wait(ctx context.Context, interrupt <-chan struct{}) error {
	by := m.bookmarkBy
	if m.only >= 0 {
		by = time.Now().Add(m.options.Bookmarks) // no Bookmark can be sent
	}
	timer := time.NewTimer(time.Until(by))
	defer timer.Stop()
	const others = 3
	cases := append(make([]reflect.SelectCase, 0, len(m.parts)+others), receive(ctx.Done()), receive(interrupt),
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(timer.C)})
	for i := range m.parts {
		advanced := m.parts[i].watcher.advanced
		if m.only >= 0 && i != m.only {
			advanced = nil
		}
		cases = append(cases, receive(advanced))
	}
	switch chosen, _, _ := reflect.Select(cases); chosen {
	case 0:
		return context.Cause(ctx)
	case 1:
		return ErrInterrupted
	case 2:
	default:
		m.parts[chosen-others].pending = true
	}
	return nil
}

func receive(from <-chan struct{}) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}
