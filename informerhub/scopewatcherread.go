package informerhub

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// readResult is what a watcher reads at its cursor: changes, or latest states if the cursor is
// older than the window, or nothing yet. It has a part of a snapshot while a snapshot is being
// sent.
type readResult struct {
	changes    []change
	states     []latest
	since      uint64   // sequence number at which the states begin
	catchUp    *catchUp // source of the states
	logPart    logPart  // source of the states
	backfilled []latest // deletions that may be among them
	part       *snapshotPart
	position   Position
	through    string // see Batch
	// freshness is how current the watcher is after it; zero within latest states.
	freshness   Freshness
	oldest      int64       // the time of the oldest change, in Unix nanoseconds; 0 if there is none
	more        bool        // there is more to read
	unresumable bool        // the stream cannot be resumed after it
	needsResync bool        // the watcher must resync: see divergence.isSkippedBy
	batches     *batchCache // where watchers with the same batchKey share the batch
	batchKey    batchKey
	advanced    <-chan struct{} // if there is nothing more: closed as soon as there is
	ended       error           // if there is nothing more: why there never will be
}

// needsTurn reports whether what is pending for this watcher must wait for the turn of the caller's streams.
// What a stream begins with does not: the caller asks for it.
func (w *scopeWatcher) needsTurn() bool {
	if w.bookmarkBy.IsZero() {
		return false
	}
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	end := w.endLocked()
	if w.pending != nil || w.snapshot != nil || w.catchUp != nil || w.epoch != w.cache.feed.epoch.id || w.lagsWindowLocked(end) {
		return true
	}
	for range w.pendingLocked(end) {
		return true
	}
	return false
}

// poll returns what is pending for this watcher, and advances its cursor.
func (w *scopeWatcher) poll() readResult {
	result := w.readFeed()
	if result.catchUp != nil {
		result.states = result.catchUp.complete(result.logPart, result.backfilled)
	}
	return result
}

func (w *scopeWatcher) readFeed() readResult {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if w.epoch != c.feed.epoch.id || w.cursor < c.feed.log.evictedSeq {
		c.beginnings.resets.Add(1)
		w.beginSnapshotLocked()
	}
	w.checkLocked()
	if w.snapshot != nil {
		return w.readSnapshotLocked()
	}
	return w.readPendingLocked(w.endLocked())
}

// readPendingLocked returns the changes that are pending for the watcher, up to an end, or the
// latest states if its cursor is older than the window.
func (w *scopeWatcher) readPendingLocked(end feedEnd) readResult {
	if w.catchUp != nil {
		return w.readLatestLocked()
	}
	lagsWindow := w.lagsWindowLocked(end)
	switch {
	case w.divergence.isSkippedBy(w.cache.feed, lagsWindow):
		position := w.cache.feed.position(time.Now())
		position.Version, position.Unchecked = w.divergence.deliveredThrough, w.divergence.unchecked
		// The caller lacks what the cache knows, until the API server's history has been read.
		freshness := Freshness{Stale: true, LastContact: w.contact}
		return readResult{needsResync: true, position: position, freshness: freshness}
	case lagsWindow:
		w.catchUp = &catchUp{began: w.cursor, end: w.cache.feed.last}
		return w.readLatestLocked()
	}
	return w.readChangesLocked(end)
}

// lagsWindowLocked reports whether the window lacks some of the pending changes.
func (w *scopeWatcher) lagsWindowLocked(end feedEnd) bool {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return !window.covers(w.cursor)
	}
	seqs := w.group.between(w.cursor, end.seq)
	return len(seqs) > 0 && seqs[0] < window.first
}

// readsAllLocked reports whether the watcher must examine every change, because its cursor is older
// than its group.
func (w *scopeWatcher) readsAllLocked() bool { return w.cursor < w.group.since }

// readChangesLocked returns the pending changes up to an end, at most as many as the watcher takes
// at once.
func (w *scopeWatcher) readChangesLocked(end feedEnd) readResult {
	feed := w.cache.feed
	var changes []change
	size, more := 0, false
	for c := range w.pendingLocked(end) {
		if len(changes) == feed.limits.batch || size >= feed.limits.batchBytes {
			more = true
			break
		}
		changes = append(changes, *c)
		size += c.size()
	}
	feed.examined.Add(int64(len(changes)))
	result := readResult{changes: changes, more: more}
	if len(changes) > 0 {
		result.oldest = changes[0].at
	}
	if len(changes) > 0 && w.group.watchers > 1 {
		result.batches = w.group.batches
		result.batchKey = batchKey{selection: w.selection.Key(), from: w.cursor, to: end, more: more}
	}
	if !more {
		return w.advanceLocked(result, end)
	}
	last := changes[len(changes)-1]
	result.through = last.version
	result.batchKey.to, result.unresumable = feedEnd{seq: last.seq}, last.seq != last.step
	result.position = feed.position(time.Now())
	result.position.Version = last.closes
	if object.Older(last.version, feed.window.at(last.seq+1).version) {
		result.position.Version = last.version
	}
	result.freshness = w.freshnessAtLocked(last.seq)
	w.cursor = last.seq
	return result
}

// freshnessAtLocked returns the freshness of a watcher that has read up to a sequence number: its
// LastContact is not later than the time as of which the cache was complete before the next change.
func (w *scopeWatcher) freshnessAtLocked(seq uint64) Freshness {
	feed, freshness := w.cache.feed, w.cache.freshnessLocked()
	if seq < feed.last && feed.window.covers(seq) {
		if next := time.Unix(0, feed.window.at(seq+1).since); next.Before(freshness.LastContact) {
			freshness.LastContact = next
		}
	}
	w.contact = freshness.LastContact
	return freshness
}

// pendingLocked returns the changes after the watcher's cursor, up to an end, that concern it.
// Others may be among them.
func (w *scopeWatcher) pendingLocked(end feedEnd) iter.Seq[*change] {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return func(yield func(*change) bool) {
			for seq := w.cursor + 1; seq <= end.seq && yield(window.at(seq)); seq++ {
			}
		}
	}
	return func(yield func(*change) bool) {
		for _, seq := range w.group.between(w.cursor, end.seq) {
			if !yield(window.at(seq)) {
				return
			}
		}
	}
}

// endLocked returns the end up to which the watcher may read: the feed's end, or the group's end
// while the group is held. A watcher that has already read further, because latest states extend to
// the feed's end, is not held, and neither is one that flushes.
func (w *scopeWatcher) endLocked() feedEnd {
	if throttle := w.group.throttle; throttle.active && w.cursor <= throttle.end.seq && !w.flushing {
		return throttle.end
	}
	return w.cache.feed.end()
}

// advanceLocked moves the watcher's cursor to an end.
func (w *scopeWatcher) advanceLocked(result readResult, end feedEnd) readResult {
	feed := w.cache.feed
	w.epoch, w.cursor = feed.epoch.id, end.seq
	result.position = feed.position(time.Now())
	result.position.Version, result.through = end.closed, end.version
	result.freshness = w.freshnessAtLocked(end.seq)
	result.advanced = w.group.batches.done
	result.ended = w.cache.state.ended
	return result
}

// catchUp is the delivery of latest states to a watcher whose cursor is older than the window, up
// to the feed's end. The states come from the log, in parts, so that a slow reader retains one part
// and not all of them. An object that changes meanwhile moves to the log's end, and is sent in its
// newest state when the watcher gets there. Until then the stream cannot be resumed, because the
// client holds different objects as of different versions.
type catchUp struct {
	// since is the version up to which everything has been delivered by another replica, or by this
	// one in an earlier stream. With it, the deletions from the API server's history are sent too,
	// including those that it returns while the states are being sent. It is empty for a watcher
	// that has fallen behind the window.
	since string
	// skipped is the version up to which a relist has skipped versions, if since is among these; empty
	// otherwise. The API server's history has all deletions since then, with their versions. In the
	// log they have the version of the relist, or of the next object under that name, which the client
	// may hold already.
	skipped string
	// deleted are the UIDs of objects whose deletion was sent, so that none is sent twice.
	deleted map[string]bool
	// began is the watcher's cursor at the beginning, and end the feed's end at that time.
	began, end uint64
}

// heldAt returns a sequence number such that the client can hold an object only if it was created
// at that number or earlier. An object that has not changed since the beginning is in one part
// only, so it was not sent in earlier parts, which have moved the watcher to cursor.
func (c *catchUp) heldAt(state latest, cursor uint64) uint64 {
	if state.seq <= c.end {
		return c.began
	}
	return cursor
}

// readLatestLocked returns the latest states that are pending for the watcher, at most as many as
// it takes at once. The deletions from the API server's history must still be added.
func (w *scopeWatcher) readLatestLocked() readResult {
	feed, from := w.cache.feed, w.cursor
	part := feed.log.next(from, feed.limits)
	feed.examined.Add(int64(part.examined))
	for i := len(part.states) - 1; i >= 0 && object.Older(feed.closed, part.states[i].version); i-- {
		part.states[i].open = part.states[i].deleted
	}
	result := readResult{
		states: part.states, since: from, catchUp: w.catchUp, logPart: part, backfilled: feed.log.backfilled,
	}
	if part.all {
		w.catchUp = nil
		return w.advanceLocked(result, feed.end())
	}
	w.cursor = part.through
	result.position = feed.position(time.Now())
	result.more, result.unresumable = true, true
	return result
}

// complete adds the deletions that are known only from the API server's history to a part of the
// latest states: those up to the version of the part, or all for the last part. They must be in the
// order of their versions.
func (c *catchUp) complete(part logPart, backfilled []latest) []latest {
	if c.since == "" {
		return part.states
	}
	if c.deleted == nil {
		c.deleted = make(map[string]bool)
	}
	states := slices.DeleteFunc(part.states, func(state latest) bool {
		return state.deleted && c.skipped != "" && !object.Older(c.skipped, state.version)
	})
	logged := len(states)
	for _, state := range newerThan(backfilled, c.since) {
		if !part.all && object.Older(part.version, state.version) {
			break
		}
		states = append(states, state)
	}
	if !part.all && part.version != "" {
		c.since = part.version
	}
	if len(states) > logged {
		sortByVersion(states)
	}
	return c.dropRepeatedDeletions(states)
}

// dropRepeatedDeletions drops the deletions of objects whose deletion was sent before. A deletion
// can come twice: a relist found the object missing, and the API server's history has the time of
// the deletion.
func (c *catchUp) dropRepeatedDeletions(states []latest) []latest {
	kept := states[:0]
	for _, state := range states {
		uid := state.object.UID()
		if state.deleted && c.deleted[uid] {
			continue
		}
		if state.deleted {
			c.deleted[uid] = true
		}
		kept = append(kept, state)
	}
	return kept
}

// snapshotWalk is a snapshot that is being sent. It is read in parts, in the order of namespace and
// name, each part after the previous one was sent. A slow or stopped reader therefore retains one
// part of the objects, and not all objects as of the beginning.
//
// With each part the watcher reads the changes since the last part. It sends those of objects that
// the walk has passed, and skips those of later objects. So at each of its cursors in the feed, the
// client holds exactly the selection's objects up to the walk's cursor, as they are there. When no
// objects are left after the walk's cursor, the client holds all of them.
type snapshotWalk struct {
	cursor    *ObjectName // the last object that was examined; nil before the first part
	index     *lookup     // lookup for the objects; nil without an index
	filtering filtering
}

// beginSnapshotLocked makes the watcher begin with a snapshot, at the feed's end.
func (w *scopeWatcher) beginSnapshotLocked() {
	feed := w.cache.feed
	w.divergence, w.catchUp = divergence{}, nil
	w.snapshot = &snapshotWalk{filtering: filtering{filter: w.selection.filter}}
	w.epoch, w.cursor = feed.epoch.id, feed.last
}

// readSnapshotLocked returns the changes to the objects that the walk has passed, and the next part
// of the snapshot.
func (w *scopeWatcher) readSnapshotLocked() readResult {
	feed, walk := w.cache.feed, w.snapshot
	result := readResult{}
	if walk.cursor != nil {
		if result = w.readPendingLocked(feed.end()); result.more {
			result.part, result.unresumable = &snapshotPart{walk: walk, passed: walk.cursor}, true
			return result
		}
	}
	part := &snapshotPart{walk: walk, passed: walk.cursor, version: feed.version}
	if walk.cursor == nil {
		walk.index = w.cache.store.stepwise(w.selection)
	}
	part.objects, part.ends = w.cache.store.next(w.selection, walk.index, walk.cursor, feed.limits)
	if n := len(part.objects); n > 0 {
		last := part.objects[n-1]
		// The strings of an object retain its bytes.
		walk.cursor = &ObjectName{Namespace: strings.Clone(last.Namespace()), Name: strings.Clone(last.Name())}
	}
	if part.ends {
		w.snapshot = nil
	}
	result.part = part
	result = w.advanceLocked(result, feed.end())
	result.more, result.unresumable = !part.ends, !part.ends
	return result
}

// snapshotPart is a part of a snapshot.
type snapshotPart struct {
	walk *snapshotWalk
	// passed is the walk's cursor before this part; nil in the first part. Changes of later objects
	// are skipped.
	passed  *ObjectName
	ends    bool      // last part
	objects []*Object // candidates that are not matched yet
	version string    // of the cache when they were read
}

// complete adds a part of a snapshot to a batch of changes. It removes what it has matched from the
// part, so that it can be called again after the context has ended.
func (p *snapshotPart) complete(ctx context.Context, batch *Batch, sel *Selection) error {
	if !batch.snapshot {
		p.begin(batch)
	}
	for i := 0; len(p.objects) > 0; i++ {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return err
			}
		}
		object := p.objects[0]
		keeps, err := p.walk.filtering.matches(ctx, sel, object)
		if err != nil {
			return err
		}
		if keeps {
			event := Event{Type: Added, Object: object.Masked(sel.fields), ResourceVersion: object.ResourceVersion()}
			batch.Events = append(batch.Events, event)
		}
		p.objects = p.objects[1:]
	}
	if p.ends {
		batch.Events = append(batch.Events, Event{Type: Synced, ResourceVersion: p.version})
		batch.unvalued.merge(p.walk.filtering.unvalued)
	}
	return nil
}

// begin marks a batch of changes as the beginning of a part.
func (p *snapshotPart) begin(batch *Batch) {
	batch.snapshot = true
	for i := range batch.Events {
		batch.Events[i].Before = nil
	}
	if p.passed == nil {
		batch.Events = append([]Event{{Type: Reset, ResourceVersion: p.version}}, batch.Events...)
	}
}
