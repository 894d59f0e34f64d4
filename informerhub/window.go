package informerhub

import "sort"

// change is one step in the life of one object. It holds the object before and
// after, so that it can be told for any selection whether the object entered,
// stayed in or left it.
type change struct {
	seq     uint64  // its place in the feed
	step    uint64  // the place of the last change that was applied in one step with it
	before  *Object // nil: the object was made
	after   *Object // nil: the object was deleted
	version string  // of the event itself
	// closes is the version up to which a client holds everything when it has been sent
	// the change and all before it. For a deletion it is older than version: objects
	// that share a lease in etcd are deleted at one version, and more of them may follow.
	closes string
	// relisted says that a relist has found it: when it was is not known.
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

// object is the object that the change is about, as it was last.
func (c change) object() *Object {
	if c.after != nil {
		return c.after
	}
	return c.before
}

// window is the head of the feed: the last changes, without a gap, in as many
// bytes as it may have.
type window struct {
	changes []change
	first   uint64 // the place of changes[0], or of the next change if there is none
	bytes   int    // what the objects of changes occupy
	limit   int
	// trimmed is the version of the last change that was dropped, or the one at
	// which the window began.
	trimmed string
}

func (w *window) restart(next uint64, version string) {
	*w = window{first: next, limit: w.limit, trimmed: version}
}

// push adds the change that follows the last one, and drops the oldest ones while
// there are too many bytes.
func (w *window) push(c change) {
	w.changes = append(w.changes, c)
	w.bytes += c.size()
	shared(c.after)
	for w.bytes > w.limit && len(w.changes) > 0 {
		w.dropFirst()
	}
}

func (w *window) dropFirst() {
	dropped := w.changes[0]
	w.bytes -= dropped.size()
	w.trimmed = dropped.version
	w.changes[0] = change{} // let go of its objects
	w.changes = w.changes[1:]
	w.first++
	unshared(dropped.before)
	unshared(dropped.after)
}

// at returns the change at a place that the window covers.
func (w *window) at(place uint64) *change { return &w.changes[place-w.first] }

// covers reports whether the window holds every change behind a place.
func (w *window) covers(place uint64) bool { return place+1 >= w.first }

// after returns the changes behind a place that the window covers.
func (w *window) after(place uint64) []change {
	return w.changes[place+1-w.first:]
}

// locate answers the place behind all changes up to a version, if the window
// reaches back to it.
func (w *window) locate(version string) (place uint64, ok bool) {
	if older(version, w.trimmed) {
		return 0, false
	}
	later := sort.Search(len(w.changes), func(i int) bool {
		return compareVersions(w.changes[i].version, version) > 0
	})
	return w.first + uint64(later) - 1, true
}
