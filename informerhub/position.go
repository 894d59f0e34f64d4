package informerhub

import "time"

// Position is how far a stream has come, in words that every replica understands:
// everything up to a resource version has been delivered. It is what a resume token
// is made of.
type Position struct {
	Version string
	// Epoch is the epoch at the replica that gave the position out, and Issued when
	// that was, in Unix seconds. They tell a position in a history that has since
	// been undone (an API server's store restored from a backup) from one that can
	// be resumed.
	Epoch  uint64
	Issued int64
}

// position returns that of the feed's end. Where the last changes are deletions of which
// there may be more at the same version, it is before them: who continues there is sent
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
	wentBack := len(f.past) > 0
	return f.past[p.Epoch] || wentBack && p.Issued <= f.epoch.began
}
