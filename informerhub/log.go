package informerhub

import (
	"math"
	"slices"
	"sort"
)

// changeLog is the tail of the feed, compacted: every live object stands in it
// once, at its last change, and so does every deletion that is remembered. Whoever
// comes back with an old place is told the latest state of what has changed
// since. Kafka's compacted topics and CouchDB's _changes are the models.
//
// A change does not look for the record that it supersedes: a record is current
// as long as its entry was last changed at that record's place. Superseded ones
// are swept out when they are as many as the current ones.
type changeLog struct {
	records    []record // in the order of their places, and so of their versions
	current    int      // how many are not superseded
	tombstones []*entry // oldest first
	limits     limits
	// gaps are where deletions are not known, in order.
	gaps []gap
	// earlier are deletions in gaps and from before the log began, as the API server
	// told them; oldest first. The slice is replaced, and never changed.
	earlier []latest
	// forgotten is the place of the last deletion that was forgotten.
	forgotten uint64
	// floor is the version since which no deletion has been forgotten.
	floor string
}

// record says that at a place in the feed an entry was changed.
type record struct {
	seq     uint64
	version uint64
	entry   *entry
}

func (r record) isCurrent() bool { return r.entry.seq == r.seq }

func (l *changeLog) restart(version string) {
	*l = changeLog{limits: l.limits, floor: version}
}

// changed notes the change of an entry that is in the store: made, if it has not
// been in the log before.
func (l *changeLog) changed(e *entry, made bool, seq uint64, version string) {
	if made {
		e.made = seq
		l.current++
	}
	e.seq = seq
	l.append(e, version)
}

// deleted notes that an entry has left the store, and remembers that by a
// tombstone in its place.
func (l *changeLog) deleted(e *entry, seq uint64, version string) {
	e.object = headOnly(e.object)
	e.seq = seq
	e.deleted = true
	l.append(e, version)
	l.tombstones = append(l.tombstones, e)
	for len(l.tombstones) > l.limits.tombstones {
		l.forgetFirst()
	}
}

// forgetFirst forgets the oldest deletion.
func (l *changeLog) forgetFirst() {
	oldest := l.tombstones[0]
	l.tombstones[0] = nil
	l.tombstones = l.tombstones[1:]
	at := l.search(func(r record) bool { return r.seq >= oldest.seq })
	l.floor = formatVersion(l.records[at].version)
	l.earlier = newerThan(l.earlier, l.floor)
	l.forgotten = oldest.seq
	oldest.seq = 0 // no record is current any more
	l.current--
}

func (l *changeLog) append(e *entry, version string) {
	l.records = append(l.records, record{e.seq, versionNumber(version), e})
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

// latest is the latest state of something that has changed: an object, or the head
// of one that was deleted.
type latest struct {
	object  *Object
	made    uint64 // the place of the change that made it; 0 if that is not known
	seq     uint64 // the place of its last change; 0 if that is not known
	deleted bool
	version string // of its last change
}

// logPart is a part of the latest states.
type logPart struct {
	states  []latest // in the order of their last changes
	to      uint64   // the place up to which they are
	version string   // and the version
	all     bool     // there are no more
	looked  int      // at how many records
}

// looksPerState is how many records are looked at for a part, for each state that may be in it.
const looksPerState = 8

// next returns the latest states of what has changed behind a place, as many as a watcher takes
// at once, or fewer where most records are superseded.
func (l *changeLog) next(place uint64, most limits) (part logPart) {
	size := 0
	for _, r := range l.records[l.search(func(r record) bool { return r.seq > place }):] {
		isFull := len(part.states) == most.batch || size >= most.partBytes || part.looked == looksPerState*most.batch
		if isFull && r.version != math.MaxUint64 {
			return part
		}
		part.looked++
		part.to, part.version = r.seq, formatVersion(r.version)
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
	state := latest{object: r.entry.object, made: r.entry.made, seq: r.seq, deleted: r.entry.deleted}
	state.version = state.object.version
	if state.deleted || versionNumber(state.version) < r.version { // see relisted
		state.version = formatVersion(r.version)
	}
	return state
}

// unknown is the version up to which deletions since another one are not known; empty
// if all are.
func (l *changeLog) unknown(since string) (until string) {
	if older(since, l.floor) {
		return l.floor
	}
	if gap := l.gapAt(since); gap != nil && older(since, gap.known) {
		return gap.known
	}
	return ""
}

// remember notes that the deletions since a version up to another are known, and are among
// those that earlier is to be now.
func (l *changeLog) remember(earlier []latest, since, until string) {
	known := func(from string) string {
		if older(since, from) && !older(until, from) {
			return since
		}
		return from
	}
	l.floor = known(l.floor)
	for i := range l.gaps {
		l.gaps[i].known = known(l.gaps[i].known)
	}
	l.earlier = newerThan(earlier, l.floor)
}

// newerThan returns those of some states, which are in the order of their versions, that are
// newer than a version.
func newerThan(states []latest, version string) []latest {
	return states[sort.Search(len(states), func(i int) bool { return older(version, states[i].version) }):]
}

func sortByVersion(states []latest) {
	slices.SortStableFunc(states, func(a, b latest) int { return compareVersions(a.version, b.version) })
}

// locate returns a place such that the changes behind it are exactly those newer than
// a version; false if a deletion since that version has been forgotten. Superseded
// records may have been swept out around that version. Of all the places that this
// leaves, the answer is the last one: an object counts as made behind it only if it
// certainly was.
func (l *changeLog) locate(version string, last uint64) (place uint64, ok bool) {
	if l.unknown(version) != "" {
		return 0, false
	}
	number := versionNumber(version)
	if number == math.MaxUint64 {
		return 0, false
	}
	newer := l.search(func(r record) bool { return r.version > number })
	if newer == len(l.records) {
		return last, true
	}
	return l.records[newer].seq - 1, true
}
