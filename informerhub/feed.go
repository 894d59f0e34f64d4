package informerhub

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// feed is the history of one resource, in the order of its changes. Its head is a
// window: the last changes, with the object before and after each. Behind that it
// is a log, compacted: each live object at its last change, and the deletions. It
// is not safe for concurrent use: the cache's lock guards it.
//
// A place in the feed is the number of a change, counted from 1 since the cache
// began, and means nothing in another epoch or at another replica. What everyone
// understands is a resource version: see locate.
type feed struct {
	epoch   epoch
	past    map[uint64]bool // the epochs that have ended here
	last    uint64          // the place of the last change
	version string          // of the last change, or a newer one up to which there was none
	// closed is the version up to which all changes are in the feed. It is version,
	// unless the last change was a deletion: more objects may have been deleted at that
	// very version.
	closed  string
	opened  chan struct{} // has a value when closed has fallen behind version
	limits  limits
	window  window
	log     changeLog
	topics  topics
	waiting chan struct{} // closed at the next version; nil if nobody waits

	// looked is how many changes, records of the log and namespaces of an interest have been
	// looked at for readers: see store.
	looked atomic.Int64
}

// epoch is a time in which versions only went up. It ends when the API server goes
// back in time, as when its store is restored from a backup.
type epoch struct {
	id    uint64 // random, so that another replica's is told from ours
	began int64  // Unix seconds
}

func newEpoch(now time.Time) epoch {
	return epoch{id: rand.Uint64() | 1, began: now.Unix()} // never 0
}

// limits bound what a feed remembers, and what a watcher takes from it at once.
type limits struct {
	window     int // bytes of the objects in the window
	tombstones int // deletions
	sweepSlack int // superseded records that are not worth a sweep
	batch      int // changes, or objects
	batchBytes int // bytes of the objects of changes
	// partBytes is how many bytes of objects are in a part of a snapshot, or of latest
	// states: what a reader that stands still there keeps in memory.
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
		past:   make(map[uint64]bool),
		opened: make(chan struct{}, 1),
		limits: limits,
		window: window{limit: limits.window},
		log:    changeLog{limits: limits},
		topics: newTopics(),
	}
}

// restart begins a new epoch with the objects of a new store, in the order of their
// versions: no place in the old one leads on from here.
func (f *feed) restart(now time.Time, entries []*entry, version string) {
	if f.epoch.id != 0 {
		f.past[f.epoch.id] = true
	}
	f.epoch = newEpoch(now)
	f.log.restart(version)
	for _, e := range entries {
		f.last++
		f.log.changed(e, true, f.last, e.object.version)
		e.made = 0 // nobody knows when it was made
	}
	f.version, f.closed = version, version
	f.window.restart(f.last+1, version)
	f.topics.showAll(now)
	f.wakeWaiting()
}

// end is where the feed ends.
func (f *feed) end() end { return end{f.last, f.version, f.closed} }

// append adds a change that has been made in the store, at an entry that is new
// there if made. Watchers see it when the feed settles.
func (f *feed) append(c change, e *entry, made bool) {
	f.last++
	c.seq = f.last
	f.move(&c)
	if c.after != nil {
		f.log.changed(e, made, c.seq, c.version)
		if c.relisted {
			e.made = 0 // at some time before
		}
	} else {
		f.log.deleted(e, c.seq, c.version)
	}
	f.window.push(c)
	f.topics.publish(c, f.window.first)
	f.wakeWaiting()
}

// move has the feed's version follow a change. Whatever is newer than a version says
// that everything at that version is known. A change that is no deletion is alone at its
// version.
func (f *feed) move(c *change) {
	if older(f.version, c.version) {
		f.closed = f.version
	}
	f.version = c.version
	if c.after != nil || c.relisted {
		f.closed = f.version
	} else {
		select {
		case f.opened <- struct{}{}:
		default:
		}
	}
	c.closes = f.closed
}

// settle lets watchers see what has been appended since the feed ended at an earlier
// place, now or in a moment.
func (f *feed) settle(before end, now time.Time) {
	f.topics.settle(before, now)
}

// advance notes that nothing has happened up to a version. The version of the last
// deletion itself does not say that there were no others at it: the API server may send
// a bookmark between two of them.
func (f *feed) advance(version string) {
	if older(f.version, version) {
		f.version, f.closed = version, version
	}
	f.wakeWaiting()
}

// complete notes that a list has been taken in, which has everything at its version.
func (f *feed) complete(version string) {
	f.advance(version)
	if version == f.version {
		f.closed = version
	}
}

// reached is closed when the feed gets to another version.
func (f *feed) reached() <-chan struct{} {
	if f.waiting == nil {
		f.waiting = make(chan struct{})
	}
	return f.waiting
}

func (f *feed) wakeWaiting() {
	if f.waiting != nil {
		close(f.waiting)
		f.waiting = nil
	}
}

// locate answers the place behind all changes up to a version; false if deletions
// since then have been forgotten.
func (f *feed) locate(version string) (place uint64, ok bool) {
	if place, ok := f.locateStep(version); ok {
		return place, true
	}
	return f.log.locate(version, f.last)
}

// locateStep is locate for those who want every step: false if not every one is known
// since then.
func (f *feed) locateStep(version string) (place uint64, ok bool) {
	if f.log.gapAt(version) != nil {
		return 0, false
	}
	return f.window.locate(version)
}
