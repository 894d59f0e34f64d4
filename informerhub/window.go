package informerhub

import (
	"sort"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// change is one modification of one object. It holds the object before and after, so that any
// selection can determine whether the object entered it, stayed in it or left it.
type change struct {
	seq     uint64  // sequence number in the feed
	step    uint64  // sequence number of the last change that was applied in the same step
	at      int64   // time at which the cache has taken it over, in Unix nanoseconds
	since   int64   // time as of which the cache was complete before it, in Unix nanoseconds
	before  *Object // nil: the object was created
	after   *Object // nil: the object was deleted
	version string  // of the event itself
	// closes is the version up to which a client holds everything after it was sent this change and
	// all earlier ones. For a deletion it is older than version: objects that share a lease in etcd
	// are deleted at one version, and more of them may follow.
	closes string
	// relisted reports whether a relist found the change, so that its time is unknown.
	relisted bool
}

func (c change) size() int {
	size := 0
	if c.before != nil {
		size += c.before.Size()
	}
	if c.after != nil {
		size += c.after.Size()
	}
	return size
}

// object returns the latest known state of the changed object.
func (c change) object() *Object {
	if c.after != nil {
		return c.after
	}
	return c.before
}

// window is the newest part of the feed: the last changes, without a gap, up to a limit in bytes.
type window struct {
	changes []change
	first   uint64 // sequence number of changes[0], or of the next change if there is none
	bytes   int    // size of the objects in changes
	limit   int
	// trimmed is the version of the last change that was dropped, or the version at which the
	// window began.
	trimmed string
	dropped int64 // the time of the last change that was dropped, in Unix nanoseconds; 0 if there is none
}

func (w *window) restart(next uint64, version string) {
	*w = window{first: next, limit: w.limit, trimmed: version}
}

// push appends the next change, and drops the oldest changes while the window is above its limit.
func (w *window) push(c change) {
	w.changes = append(w.changes, c)
	w.bytes += c.size()
	c.after.CacheEncodings()
	for w.bytes > w.limit && len(w.changes) > 0 {
		w.dropFirst()
	}
}

func (w *window) dropFirst() {
	dropped := w.changes[0]
	w.bytes -= dropped.size()
	w.trimmed, w.dropped = dropped.version, dropped.at
	w.changes[0] = change{} // release its objects
	w.changes = w.changes[1:]
	w.first++
	dropped.before.DropEncodings()
	dropped.after.DropEncodings()
}

// at returns the change with a sequence number that the window covers.
func (w *window) at(seq uint64) *change { return &w.changes[seq-w.first] }

// covers reports whether the window has every change after a sequence number.
func (w *window) covers(seq uint64) bool { return seq+1 >= w.first }

// after returns the changes after a sequence number that the window covers.
func (w *window) after(seq uint64) []change {
	return w.changes[seq+1-w.first:]
}

// locate returns the sequence number of the last change up to a version, if the window reaches back
// to that version.
func (w *window) locate(version string) (seq uint64, ok bool) {
	if object.Older(version, w.trimmed) {
		return 0, false
	}
	later := sort.Search(len(w.changes), func(i int) bool {
		return object.CompareVersions(w.changes[i].version, version) > 0
	})
	return w.first + uint64(later) - 1, true
}

// afterDeletion returns the sequence number of a deletion among those that follow a sequence number at
// one version; that number itself if the deletion is not among them. A relist does not know the order.
func (w *window) afterDeletion(seq uint64, deletion Deletion) uint64 {
	for _, c := range w.after(seq) {
		switch {
		case c.version != deletion.Version || c.after != nil || c.relisted:
			return seq
		case c.before.UID() == deletion.UID:
			return c.seq
		}
	}
	return seq
}
