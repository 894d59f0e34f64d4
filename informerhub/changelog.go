package informerhub

import (
	"math"
	"slices"
	"sort"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// changeLog is the older part of the feed, compacted: it has every live object once, at its last
// change, and every deletion that is retained. A watcher that resumes from an old sequence number
// receives the latest state of each object that has changed since. Kafka's compacted topics and
// CouchDB's _changes are the models.
//
// A change does not search for the record that it supersedes: a record is current as long as its
// entry's last change has the record's sequence number. Superseded records are swept when they
// outnumber the current ones.
type changeLog struct {
	records    []record // in the order of their sequence numbers, and so of their versions
	current    int      // number of records that are not superseded
	tombstones []*entry // oldest first
	limits     limits
	// gaps are the version ranges whose deletions may be unknown, in order.
	gaps []gap
	// backfilled are the deletions in gaps and from before the log began, as the API server's
	// history reported them; oldest first. The slice is replaced, never changed.
	backfilled []latest
	// evictedSeq is the sequence number of the last deletion that was evicted.
	evictedSeq uint64
	// compactVersion is the version since which no deletion has been evicted.
	compactVersion string
}

// record is the change of an entry at a sequence number.
type record struct {
	seq     uint64
	version uint64
	entry   *entry
}

func (r record) isCurrent() bool { return r.entry.seq == r.seq }

func (l *changeLog) restart(version string) {
	*l = changeLog{limits: l.limits, compactVersion: version}
}

// changed records the change of an entry that is in the store. If isNew is set, the entry is new in
// the log.
func (l *changeLog) changed(e *entry, isNew bool, seq uint64, version string) {
	if isNew {
		e.createdSeq = seq
		l.current++
	}
	e.seq = seq
	l.append(e, version)
}

// deleted records that an entry has left the store, and turns it into a tombstone.
func (l *changeLog) deleted(e *entry, seq uint64, version string) {
	e.object = e.object.HeadOnly()
	e.seq = seq
	e.deleted = true
	l.append(e, version)
	l.tombstones = append(l.tombstones, e)
	for len(l.tombstones) > l.limits.tombstones {
		l.evictOldest()
	}
}

// evictOldest evicts the oldest deletion.
func (l *changeLog) evictOldest() {
	oldest := l.tombstones[0]
	l.tombstones[0] = nil
	l.tombstones = l.tombstones[1:]
	first := l.search(func(r record) bool { return r.seq >= oldest.seq })
	l.compactVersion = object.FormatVersion(l.records[first].version)
	l.backfilled = newerThan(l.backfilled, l.compactVersion)
	l.evictedSeq = oldest.seq
	oldest.seq = 0 // no record is current any more
	l.current--
}

func (l *changeLog) append(e *entry, version string) {
	l.records = append(l.records, record{e.seq, object.VersionNumber(version), e})
	if superseded := len(l.records) - l.current; superseded > l.current+l.limits.sweepSlack {
		l.sweep()
	}
}

func (l *changeLog) sweep() {
	kept := make([]record, 0, l.current)
	for _, r := range l.records {
		if r.isCurrent() {
			kept = append(kept, r)
		}
	}
	l.records = kept
}

func (l *changeLog) search(found func(record) bool) int {
	return sort.Search(len(l.records), func(i int) bool { return found(l.records[i]) })
}

// latest is the latest state of a changed object: the object, or the head of a deleted one.
type latest struct {
	object     *Object
	createdSeq uint64 // sequence number of its creation; 0 if unknown
	seq        uint64 // sequence number of its last change; 0 if unknown
	deleted    bool
	// open reports that more objects may have been deleted at the version of this deletion: the
	// position behind the latest states is older.
	open    bool
	version string // of its last change
}

// logPart is a part of the latest states.
type logPart struct {
	states   []latest // in the order of their last changes
	through  uint64   // the sequence number up to which they are complete
	version  string   // the version of that sequence number
	all      bool     // there are no more
	examined int      // number of records examined
}

// recordsPerState is the number of records examined for a part, for each state that it may hold.
const recordsPerState = 8

// next returns the latest states of the objects that have changed after a sequence number, at most
// as many as a watcher takes at once, or fewer if most records are superseded.
func (l *changeLog) next(seq uint64, maximum limits) (part logPart) {
	size := 0
	for _, r := range l.records[l.search(func(r record) bool { return r.seq > seq }):] {
		isFull := len(part.states) == maximum.batch || size >= maximum.partBytes || part.examined == recordsPerState*maximum.batch
		if isFull && r.version != math.MaxUint64 {
			return part
		}
		part.examined++
		part.through, part.version = r.seq, object.FormatVersion(r.version)
		if r.isCurrent() {
			state := r.state()
			part.states = append(part.states, state)
			size += state.object.Size()
		}
	}
	part.all = true
	return part
}

func (r record) state() latest {
	state := latest{object: r.entry.object, createdSeq: r.entry.createdSeq, seq: r.seq, deleted: r.entry.deleted}
	state.version = state.object.ResourceVersion()
	if state.deleted || object.VersionNumber(state.version) < r.version { // see relistedChanges
		state.version = object.FormatVersion(r.version)
	}
	return state
}

// missingUntil returns the version up to which deletions since another version are unknown; empty
// if all are known.
func (l *changeLog) missingUntil(since string) (until string) {
	if object.Older(since, l.compactVersion) {
		return l.compactVersion
	}
	if gap := l.gapAt(since); gap != nil && object.Older(since, gap.knownSince) {
		return gap.knownSince
	}
	return ""
}

// maxSearched bounds the records that are searched for deletions that can be missing.
const maxSearched = 1 << 14

// mayLack reports whether a replica whose watch began after one version, and has reached another, can
// lack deletions: those which the API server may leave out are of several objects at one version. It
// returns true if the deletions in between are unknown.
func (l *changeLog) mayLack(since, through string) bool {
	first, last := object.VersionNumber(since), object.VersionNumber(through)
	records := l.records[l.search(func(r record) bool { return r.version > first }):]
	if first == math.MaxUint64 || l.missingUntil(since) != "" || len(records) > maxSearched {
		return true
	}
	deleted := make(map[uint64]bool)
	repeats := func(version uint64) bool {
		known := deleted[version]
		deleted[version] = true
		return known && version <= last
	}
	return slices.ContainsFunc(newerThan(l.backfilled, since), func(state latest) bool { return repeats(object.VersionNumber(state.version)) }) ||
		slices.ContainsFunc(records, func(r record) bool { return r.isCurrent() && r.entry.deleted && repeats(r.version) })
}

// backfill records that the deletions between two versions are known, and sets the list of
// backfilled deletions, which must contain them.
func (l *changeLog) backfill(backfilled []latest, since, until string) {
	updated := func(from string) string {
		if object.Older(since, from) && !object.Older(until, from) {
			return since
		}
		return from
	}
	l.compactVersion = updated(l.compactVersion)
	for i := range l.gaps {
		l.gaps[i].knownSince = updated(l.gaps[i].knownSince)
	}
	l.backfilled = newerThan(backfilled, l.compactVersion)
}

// newerThan returns the states that are newer than a version. The states must be in the order of
// their versions.
func newerThan(states []latest, version string) []latest {
	return states[sort.Search(len(states), func(i int) bool { return object.Older(version, states[i].version) }):]
}

func sortByVersion(states []latest) {
	slices.SortStableFunc(states, func(a, b latest) int { return object.CompareVersions(a.version, b.version) })
}

// locate returns a sequence number such that the changes after it are exactly those newer than a
// version; false if a deletion since that version has been evicted. Superseded records around that
// version may have been swept, so several numbers may fit. The result is the highest of them: an
// object counts as created after it only if it certainly was.
func (l *changeLog) locate(version string, last uint64) (seq uint64, ok bool) {
	if l.missingUntil(version) != "" {
		return 0, false
	}
	number := object.VersionNumber(version)
	if number == math.MaxUint64 {
		return 0, false
	}
	newer := l.search(func(r record) bool { return r.version > number })
	if newer == len(l.records) {
		return last, true
	}
	return l.records[newer].seq - 1, true
}

// gap is a range of versions that a relist has skipped. An object that was created and deleted
// within it left no trace here, but another replica may have delivered it. So no stream can
// continue from a version within the gap, unless the API server's own history has the deletions
// since then (see history.go).
type gap struct {
	from, to   string
	knownSince string // the version since which all deletions are known
}

// maxGaps bounds the number of gaps that are kept apart. Above it the two oldest ones are merged.
const maxGaps = 256

// recordGap records the version range that a relist has skipped.
func (l *changeLog) recordGap(from, to string) {
	if !object.Older(from, to) {
		return
	}
	l.gaps = append(l.gaps, gap{from: from, to: to, knownSince: to})
	if len(l.gaps) > maxGaps {
		second := l.gaps[1]
		l.gaps = slices.Replace(l.gaps, 0, 2, gap{from: l.gaps[0].from, to: second.to, knownSince: second.to})
	}
}

// gapAt returns the gap that contains a version; nil if there is none.
func (l *changeLog) gapAt(version string) *gap {
	at := sort.Search(len(l.gaps), func(i int) bool { return object.Older(version, l.gaps[i].to) })
	if at == len(l.gaps) || !object.Older(l.gaps[at].from, version) {
		return nil
	}
	return &l.gaps[at]
}

// skippedAt returns the end of the gap that contains a version; empty if there is none.
func (l *changeLog) skippedAt(version string) string {
	if gap := l.gapAt(version); gap != nil {
		return gap.to
	}
	return ""
}
