package informerhub

import (
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

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
func (w *Watcher) readLatestLocked() readResult {
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
