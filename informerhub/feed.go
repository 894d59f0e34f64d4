package informerhub

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// feed is the history of one resource, in the order of its changes. Its newest part is a window:
// the last changes, with the object before and after each. The older part is a compacted log: each
// live object at its last change, and the deletions. A feed is not safe for concurrent use: the
// cache's lock guards it.
//
// From old to new, with what a watcher that resumes there receives:
//
//	            compactVersion     gap.from  gap.to         window.trimmed    closed ≤ version
//	                  │                │        │                  │                │
//	─ evicted ────────┼──── log ───────┼┄ gap ┄┄┼──── log ─────────┼──── window ────┤
//	  deletions       │ live objects   │ of a   │ live objects     │ every change,  │
//	                  │ at their last  │ relist │ and tombstones   │ with the object│
//	                  │ change, and    │        │                  │ before and     │
//	                  │ tombstones     │        │                  │ after          │
//	  Reset, snapshot │ latest states  │ Reset, │ latest states    │ every step     │
//	                                   │ snapshot
//
// Deletions that the API server's own history reports (see history.go) move compactVersion back and
// close gaps. A position of another epoch, whose history was undone, has no place in this line: it
// is resumed with Reset and a snapshot.
//
// A sequence number in the feed counts the changes from 1 since the cache began. It has no meaning
// in another epoch or at another replica; only resource versions are shared, see locate.
type feed struct {
	epoch       epoch
	endedEpochs map[uint64]bool // epochs that have ended at this replica
	last        uint64          // sequence number of the last change
	version     string          // of the last change, or a newer version up to which there was no other change
	// closed is the version up to which the feed has every change. It equals version, unless the
	// last change was a deletion: more objects may have been deleted at the same version.
	closed string
	// confirmed is a newer version, at which a list of the API server had exactly the objects of the
	// store; empty if there is none. Objects that were created and deleted up to it may still be in
	// transit, so the feed does not continue from there, and the next change makes it empty.
	confirmed     string
	unchecked     string        // the version since which deletions may be missing; empty if none can be
	versionOpened chan struct{} // has a value when closed has become older than version
	limits        limits
	window        window
	log           changeLog
	rewinds       rewinds
	watchers      watcherIndex
	versionChange chan struct{} // closed at the next version; nil without a waiter

	// examined counts the changes, records of the log and namespaces of an index key that were
	// examined for readers: see store.
	examined atomic.Int64
}

// feedEnd is the end of a feed at some time.
type feedEnd struct {
	seq     uint64
	version string
	closed  string // see feed
}

// epoch is a period in which versions only increased. It ends when the API server goes back in
// time, as when its store is restored from a backup.
type epoch struct {
	id    uint64 // random, so that it differs from the ids of other replicas
	began int64  // Unix seconds
}

func newEpoch(now time.Time) epoch {
	return epoch{id: rand.Uint64() | 1, began: now.Unix()} // never 0
}

// limits bound what a feed retains, and what a watcher reads from it at once.
type limits struct {
	window     int // bytes of the objects in the window
	tombstones int // deletions
	sweepSlack int // superseded records that do not justify a sweep yet
	batch      int // changes, or objects
	batchBytes int // bytes of the objects of changes
	// partBytes bounds the objects in a part of a snapshot or of latest states, in bytes. A reader
	// that stops reading retains one part in memory.
	partBytes int
}

func defaultLimits(windowBytes int) limits {
	return limits{
		window: windowBytes, tombstones: maxTombstones, sweepSlack: 1024,
		batch: 1024, batchBytes: 256 << 10, partBytes: 128 << 10,
	}
}

func newFeed(limits limits) *feed {
	return &feed{
		endedEpochs:   make(map[uint64]bool),
		versionOpened: make(chan struct{}, 1),
		limits:        limits,
		window:        window{limit: limits.window},
		log:           changeLog{limits: limits},
		watchers:      newWatcherIndex(),
	}
}

// restart begins a new epoch with the objects of a new store, in the order of their versions. No
// sequence number of the old epoch is valid in the new one.
func (f *feed) restart(now time.Time, entries []*entry, version string) {
	if f.epoch.id != 0 {
		f.endedEpochs[f.epoch.id] = true
	}
	f.epoch = newEpoch(now)
	f.log.restart(version)
	for _, e := range entries {
		f.last++
		f.log.changed(e, true, f.last, e.object.ResourceVersion())
		e.createdSeq = 0 // the time of its creation is unknown
	}
	f.version, f.closed, f.confirmed = version, version, ""
	f.window.restart(f.last+1, version)
	f.rewinds.trim(f)
	f.watchers.wakeAll(now)
	f.wakeWaiters()
}

// knownSince returns the time since which the window has every change.
func (f *feed) knownSince() time.Time {
	switch {
	case f.epoch.id == 0:
		return time.Time{}
	case f.window.dropped == 0:
		return time.Unix(f.epoch.began, 0)
	}
	return time.Unix(0, f.window.dropped)
}

// end returns the feed's current end.
func (f *feed) end() feedEnd { return feedEnd{f.last, f.version, f.closed} }

// append adds a change that has been applied to the store, at an entry that is new there if isNew
// is set. Watchers receive it when the feed settles.
func (f *feed) append(c change, e *entry, isNew bool) {
	f.last++
	c.seq, f.confirmed = f.last, ""
	f.updateVersion(&c)
	if c.after != nil {
		f.log.changed(e, isNew, c.seq, c.version)
		if c.relisted {
			e.createdSeq = 0 // created at an unknown earlier time
		}
	} else {
		f.log.deleted(e, c.seq, c.version)
	}
	f.window.push(c)
	f.rewinds.trim(f)
	f.watchers.publish(c, f.window.first)
	f.wakeWaiters()
}

// updateVersion updates the feed's version for a change. A change that is newer than a version
// shows that everything at that version is known. A change other than a deletion is alone at its
// version.
func (f *feed) updateVersion(c *change) {
	if object.Older(f.version, c.version) {
		f.closed = f.version
	}
	f.version = c.version
	if c.after != nil || c.relisted {
		f.closed = f.version
	} else {
		select {
		case f.versionOpened <- struct{}{}:
		default:
		}
	}
	c.closes = f.closed
}

// settle makes the changes that were appended after an earlier end visible to watchers, at once or
// after the group's wake interval.
func (f *feed) settle(before feedEnd, now time.Time) {
	f.watchers.settle(before, now)
}

// advance records that there was no change up to a version. At the version of the last deletion it
// does not exclude further deletions: the API server may send a bookmark between two of them.
func (f *feed) advance(version string) {
	if object.Older(f.version, version) {
		f.version, f.closed = version, version
	}
	f.wakeWaiters()
}

// confirm records that a list of the API server had the objects of the store, at a version.
func (f *feed) confirm(version string) {
	f.confirmed = version
	f.wakeWaiters()
}

// reached returns the newest version at which the API server had the objects of the store.
func (f *feed) reached() string {
	if f.confirmed != "" && object.Older(f.version, f.confirmed) {
		return f.confirmed
	}
	return f.version
}

// isComplete reports whether every change at a version is known, and the version is reached.
func (f *feed) isComplete(version string) bool {
	return !object.Older(f.closed, version) || f.confirmed != "" && !object.Older(f.confirmed, version)
}

// completeList records that a list was applied, which contains everything at its version.
func (f *feed) completeList(version string) {
	f.advance(version)
	if version == f.version {
		f.closed = version
	}
}

// nextVersion returns a channel that is closed when the feed reaches another version.
func (f *feed) nextVersion() <-chan struct{} {
	if f.versionChange == nil {
		f.versionChange = make(chan struct{})
	}
	return f.versionChange
}

func (f *feed) wakeWaiters() {
	if f.versionChange != nil {
		close(f.versionChange)
		f.versionChange = nil
	}
}

// locate returns the sequence number of the last change up to a version; false if deletions since
// then have been evicted.
func (f *feed) locate(version string) (seq uint64, ok bool) {
	if seq, ok := f.locateStep(version); ok {
		return seq, true
	}
	return f.log.locate(version, f.last)
}

// locateStep is like locate, for watchers that need every step. It returns false if not every step
// since the version is known.
func (f *feed) locateStep(version string) (seq uint64, ok bool) {
	if f.log.gapAt(version) != nil {
		return 0, false
	}
	return f.window.locate(version)
}
