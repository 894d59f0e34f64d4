package informerhub

import (
	"iter"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
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
	needsResync bool        // the watcher must resync: see skippedVersionLocked
	batches     *batchCache // where watchers with the same batchKey share the batch
	batchKey    batchKey
	advanced    <-chan struct{} // if there is nothing more: closed as soon as there is
	ended       error           // if there is nothing more: why there never will be
}

// needsTurn reports whether what is pending for this watcher must wait for the turn of the caller's streams.
// What a stream begins with does not: the caller asks for it.
func (w *Watcher) needsTurn() bool {
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
func (w *Watcher) poll() readResult {
	result := w.readFeed()
	if result.catchUp != nil {
		result.states = result.catchUp.complete(result.logPart, result.backfilled)
	}
	return result
}

func (w *Watcher) readFeed() readResult {
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
func (w *Watcher) readPendingLocked(end feedEnd) readResult {
	if w.catchUp != nil {
		return w.readLatestLocked()
	}
	lagsWindow := w.lagsWindowLocked(end)
	switch {
	case w.skippedVersionLocked(lagsWindow):
		position := w.cache.feed.position(time.Now())
		position.Version, position.Unchecked = w.deliveredThrough, w.unchecked
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
func (w *Watcher) lagsWindowLocked(end feedEnd) bool {
	window := &w.cache.feed.window
	if w.readsAllLocked() {
		return !window.covers(w.cursor)
	}
	seqs := w.group.between(w.cursor, end.seq)
	return len(seqs) > 0 && seqs[0] < window.first
}

// readsAllLocked reports whether the watcher must examine every change, because its cursor is older
// than its group.
func (w *Watcher) readsAllLocked() bool { return w.cursor < w.group.since }

// readChangesLocked returns the pending changes up to an end, at most as many as the watcher takes
// at once.
func (w *Watcher) readChangesLocked(end feedEnd) readResult {
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
func (w *Watcher) freshnessAtLocked(seq uint64) Freshness {
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
func (w *Watcher) pendingLocked(end feedEnd) iter.Seq[*change] {
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
func (w *Watcher) endLocked() feedEnd {
	if throttle := w.group.throttle; throttle.active && w.cursor <= throttle.end.seq && !w.flushing {
		return throttle.end
	}
	return w.cache.feed.end()
}

// advanceLocked moves the watcher's cursor to an end.
func (w *Watcher) advanceLocked(result readResult, end feedEnd) readResult {
	feed := w.cache.feed
	w.epoch, w.cursor = feed.epoch.id, end.seq
	result.position = feed.position(time.Now())
	result.position.Version, result.through = end.closed, end.version
	result.freshness = w.freshnessAtLocked(end.seq)
	result.advanced = w.group.batches.done
	result.ended = w.cache.state.ended
	return result
}
