package informerhub

import (
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Position is the progress of a stream, in terms that every replica understands: everything up to a
// resource version has been delivered. Resume tokens are made from it.
type Position struct {
	Version string
	// Deletion is the last of several deletions at a newer version, if some of these have been
	// delivered too; zero otherwise. The deletions at one version come in the same order at every
	// replica, because etcd orders them. A replica that knows this deletion continues after it, and
	// another one sends the deletions again.
	Deletion Deletion
	// Unchecked is a version before Version, if deletions since then may be missing: the replica's watch
	// had just begun. The replica itself finds them. Another one that knows of deletions which can be
	// missing begins with Reset. Empty otherwise.
	Unchecked string
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
	position := Position{Version: f.closed, Epoch: f.epoch.id, Issued: now.Unix()}
	// A list is unchecked since the version before its own. Without a change since, nothing is known of
	// its version.
	if f.unchecked != "" && object.Older(f.unchecked, versionBefore(f.closed)) {
		position.Unchecked = f.unchecked
	}
	return position
}

// uncheckedSince returns the version since which a caller with a position may lack deletions that this
// feed has behind it; empty if there is none. The replica that issued the position finds them itself.
func (f *feed) uncheckedSince(p Position) string {
	if p.Epoch == f.epoch.id {
		return ""
	}
	return p.Unchecked
}

// uncheckedSince is that of the cache's feed.
func (c *Cache) uncheckedSince(p Position) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.uncheckedSince(p)
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
