package informerhub

// change is one step in the life of one object. It holds the object before and
// after, so that a watcher can tell for any selection whether the object
// entered, stayed in or left it.
type change struct {
	before  *Object // nil: the object was made
	after   *Object // nil: the object was deleted
	version string  // of the event itself
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

// feed is the history of one resource: a window of its last changes, in the
// order in which they were made. It is not safe for concurrent use: the cache's
// lock guards it.
//
// A place in the feed is counted in changes since the feed began, and means
// nothing in another epoch.
type feed struct {
	epoch   uint64 // counts restarts
	first   uint64 // the place of the window's first change
	window  []change
	bytes   int // what the window's objects occupy
	limit   int // what they may occupy
	version string
	// grown is closed when the feed has grown or restarted, and replaced.
	grown chan struct{}
}

func newFeed(limit int) *feed {
	return &feed{limit: limit, grown: make(chan struct{})}
}

// end is the place behind the last change.
func (f *feed) end() uint64 { return f.first + uint64(len(f.window)) }

// append adds a change, and drops the oldest ones while the window is over its
// limit.
func (f *feed) append(c change) {
	f.window = append(f.window, c)
	f.version = c.version
	f.bytes += c.size()
	for f.bytes > f.limit && len(f.window) > 0 {
		f.bytes -= f.window[0].size()
		f.window[0] = change{} // let go of its objects
		f.window = f.window[1:]
		f.first++
	}
	f.wake()
}

// advance notes that nothing has happened up to a version.
func (f *feed) advance(version string) { f.version = version }

// restart begins a new epoch: no place in the old one leads on from here.
func (f *feed) restart(version string) {
	f.epoch++
	f.first = f.end()
	f.window = nil
	f.bytes = 0
	f.version = version
	f.wake()
}

func (f *feed) wake() {
	close(f.grown)
	f.grown = make(chan struct{})
}

// holds reports whether the feed leads on from a place without a gap.
func (f *feed) holds(epoch, place uint64) bool {
	return epoch == f.epoch && place >= f.first
}

// read copies up to limit changes from a place that the feed holds.
func (f *feed) read(place uint64, limit int) []change {
	waiting := f.window[place-f.first:]
	return append([]change(nil), waiting[:min(limit, len(waiting))]...)
}
