package informerhub

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
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
		signal(f.versionOpened)
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

// undone reports whether a position lies in a history that is not this feed's.
func (f *feed) undone(p Position) bool {
	if p.Epoch == f.epoch.id {
		return false
	}
	wentBack := len(f.endedEpochs) > 0
	return f.endedEpochs[p.Epoch] || wentBack && p.Issued <= f.epoch.began
}

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

// keepsVersion reports whether only the object's content has changed, at the same version.
func (c change) keepsVersion() bool {
	return c.before != nil && c.after != nil && c.before.ResourceVersion() == c.after.ResourceVersion()
}

// changesBetween returns the changes between two states of an object of one name: none if they are
// equal, and a deletion and a creation if the UIDs differ.
func changesBetween(before, after *Object) []change {
	switch {
	case before == nil:
		return []change{{after: after, version: after.ResourceVersion()}}
	case before.UID() != after.UID():
		return []change{{before: before, version: after.ResourceVersion()}, {after: after, version: after.ResourceVersion()}}
	case before.ResourceVersion() == after.ResourceVersion():
		return nil
	}
	return []change{{before: before, after: after, version: after.ResourceVersion()}}
}

// relistedChanges returns the changes between a state of an object and its state in a later
// snapshot. The content of an object can change without its version: when the schema or the
// conversion of a CRD changes, or when the API server is another release with other defaults.
func relistedChanges(before, after *Object, version string) []change {
	if before.UID() == after.UID() && before.ResourceVersion() == after.ResourceVersion() && !before.SameContent(after) {
		return []change{{before: before, after: after, version: version}}
	}
	return changesBetween(before, after)
}

// diffSnapshots returns the changes between two snapshots, in the order of resource versions. Both
// snapshots must be in order of namespace and name. Deletions, whose versions are unknown, and
// changes of the content alone come last, at the version of the later snapshot.
func diffSnapshots(before, after []*Object, version string) []change {
	var changes []change
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			changes = append(changes, change{before: before[0], version: version})
			before = before[1:]
		case order > 0:
			changes = append(changes, changesBetween(nil, after[0])...)
			after = after[1:]
		default:
			changes = append(changes, relistedChanges(before[0], after[0], version)...)
			before, after = before[1:], after[1:]
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return object.CompareVersions(a.version, b.version)
	})
	return changes
}

// compareFirst compares the first objects of two ordered slices. An empty slice sorts last.
func compareFirst(a, b []*Object) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return a[0].Compare(b[0].Namespace(), b[0].Name())
}

func readable(items []any) []*Object {
	objects := make([]*Object, 0, len(items))
	for _, item := range items {
		if object := item.(*Object); object.Name() != "" {
			objects = append(objects, object)
		}
	}
	return objects
}

// versionBefore returns the version before that of a list; empty if there is none that the API server
// can be asked for.
func versionBefore(version string) string {
	if number := object.VersionNumber(version); number > 1 && number < math.MaxUint64 {
		return object.FormatVersion(number - 1)
	}
	return ""
}
