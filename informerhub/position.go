package informerhub

import "time"

// Position is the progress of a stream, in terms that every replica understands: everything up to a
// resource version has been delivered. Resume tokens are made from it.
type Position struct {
	Version string
	// Deletion is the last of several deletions at a newer version, if some of these have been
	// delivered too; zero otherwise. The deletions at one version come in the same order at every
	// replica, because etcd orders them. A replica that knows this deletion continues after it, and
	// another one sends the deletions again.
	Deletion Deletion
	// Epoch is the epoch of the replica that issued the position, and Issued the time of issue, in
	// Unix seconds. They distinguish a position that can be resumed from one in a history that was
	// undone since (an API server's store restored from a backup).
	Epoch  uint64
	Issued int64
}

// Deletion identifies the deletion of an object.
type Deletion struct {
	Version string // of the deletion
	UID     string
}

// position returns the position of the feed's end. If the last changes are deletions, and more may
// follow at the same version, the position is before them: a client that resumes there receives
// these deletions again.
func (f *feed) position(now time.Time) Position {
	return Position{Version: f.closed, Epoch: f.epoch.id, Issued: now.Unix()}
}

// undone reports whether a position lies in a history that is not this cache's.
func (c *Cache) undone(p Position) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.undone(p)
}

// undone reports whether a position lies in a history that is not this feed's.
func (f *feed) undone(p Position) bool {
	if p.Epoch == f.epoch.id {
		return false
	}
	wentBack := len(f.endedEpochs) > 0
	return f.endedEpochs[p.Epoch] || wentBack && p.Issued <= f.epoch.began
}
