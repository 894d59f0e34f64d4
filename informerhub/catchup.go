package informerhub

import "time"

// catchUp is the way of a watcher that is behind the window to the feed's end: by the
// latest states in the log, in parts, so that a reader that is slow holds on to one part
// and not to all of them. An object that changes meanwhile moves to the log's end, and is
// sent in its newest state when the watcher gets there. Until then the stream cannot be
// resumed, because the client holds some objects as they were before others.
type catchUp struct {
	// since is the version up to which everything has been delivered by another replica,
	// or by this one in a stream that has ended; then deletions that the API server has
	// told of are sent too, also those that it tells while the states are being sent. It is
	// empty for a watcher that has fallen behind.
	since string
	// deleted are the UIDs of objects whose deletion has been sent, so that none is sent
	// twice.
	deleted map[string]bool
	// began is the watcher's place at the beginning, and end the feed's end at that time.
	began, end uint64
}

// heldAt returns a place such that the client can hold an object only if it was made at that
// place or before. An object that has not changed since the beginning comes in one part only:
// none has been sent in the parts before, which have led the watcher to a place.
func (c *catchUp) heldAt(state latest, place uint64) uint64 {
	if state.seq <= c.end {
		return c.began
	}
	return place
}

// readLatestLocked returns the latest states that wait for the watcher, as many as it
// takes at once. The deletions of the API server's history are yet to be added.
func (w *Watcher) readLatestLocked() reading {
	feed, from := w.cache.feed, w.place
	part := feed.log.next(from, feed.limits)
	feed.looked.Add(int64(part.looked))
	taken := reading{states: part.states, since: from, catchUp: w.catchUp, latest: part, earlier: feed.log.earlier}
	if part.all {
		w.catchUp = nil
		return w.moveLocked(taken, feed.end())
	}
	w.place = part.to
	taken.position = feed.position(time.Now())
	taken.more, taken.broken = true, true
	return taken
}

// complete adds to a part of the latest states the deletions that only the API server's
// history has told of, which are given in the order of their versions: those up to the version
// of the part, or all if it is the last one.
func (c *catchUp) complete(part logPart, earlier []latest) []latest {
	if c.since == "" {
		return part.states
	}
	if c.deleted == nil {
		c.deleted = make(map[string]bool)
	}
	states, own := part.states, len(part.states)
	for _, state := range newerThan(earlier, c.since) {
		if !part.all && older(part.version, state.version) {
			break
		}
		states = append(states, state)
	}
	if !part.all && part.version != "" {
		c.since = part.version
	}
	if len(states) > own {
		sortByVersion(states)
	}
	return c.onceDeleted(states)
}

// onceDeleted drops the deletions of objects whose deletion has been sent: a relist has
// found an object gone, and the API server has told when that was.
func (c *catchUp) onceDeleted(states []latest) []latest {
	kept := states[:0]
	for _, state := range states {
		uid := state.object.uid
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
