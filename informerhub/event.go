package informerhub

// EventType says what an event reports.
type EventType uint8

// The types of events. They mean what kubeconnect.v1.EventType says.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Reset
	Synced
	Bookmark
)

// Event is one step in the history of a selection. Object is nil for Reset,
// Synced and Bookmark. The object of Deleted is the last one that the selection
// held, or no more than its head; ResourceVersion is that of the event itself.
type Event struct {
	Type            EventType
	Object          *Object
	ResourceVersion string
	// Before is, for Modified, the state that the reader holds. It is nil where that is
	// not certain: in snapshots and latest states, beside what another replica has sent,
	// and on the way to another selection.
	Before *Object

	step   uint64 // see change
	closes string // see change
}

// Batch is a number of events that a watcher delivers at once.
type Batch struct {
	Events []Event
	// Position is behind the last event.
	Position Position
	// Freshness is how current the cache was when the batch was read.
	Freshness Freshness
	// Warnings are what a user should know of the stream: how many objects the filter has
	// no value for, in the snapshot or since the last warning.
	Warnings []string

	snapshot bool // the events are a part of a snapshot
	latest   bool // the events are latest states rather than steps
	rescoped bool // the events lead to another selection
	broken   bool // the batch ends where a stream cannot be resumed
	unvalued leftOut
	shared   *sharedBatch
}

// PositionAfter returns the position behind one of the events. It reports false where a
// stream cannot be resumed: within a snapshot, within latest states, on the way to
// another selection, and within changes that were applied in one step.
func (b Batch) PositionAfter(i int) (Position, bool) {
	switch {
	case i == len(b.Events)-1:
		return b.Position, !b.broken
	case b.snapshot || b.latest || b.rescoped || b.Events[i].step == b.Events[i+1].step:
		return Position{}, false
	}
	position := b.Position
	position.Version = b.Events[i].ResourceVersion
	if b.Events[i+1].ResourceVersion == position.Version {
		position.Version = b.Events[i].closes
	}
	return position, true
}

// Sizes returns about how many bytes of objects the batch keeps in memory, and how many of these the
// largest of its events does.
func (b Batch) Sizes() (all, largest int) {
	for _, event := range b.Events {
		size := keptBytes(event.Object) + keptBytes(event.Before)
		all += size
		largest = max(largest, size)
	}
	return all, largest
}

// keptBytes is how much memory an object keeps: a masked one keeps the whole one.
func keptBytes(o *Object) int {
	switch {
	case o == nil:
		return 0
	case o.masking != nil:
		return o.Size() + o.masking.whole.Size()
	}
	return o.Size()
}

// bookmark returns a batch that says that everything up to a position has been
// delivered.
func bookmark(position Position, freshness Freshness) Batch {
	return Batch{
		Events:   []Event{{Type: Bookmark, ResourceVersion: position.Version}},
		Position: position, Freshness: freshness,
	}
}

// see returns the event that a change is under a selection; false if it is none.
func (s *Selection) see(step change, unvalued *leftOut) (Event, bool) {
	before := step.before != nil && s.Matches(step.before)
	after := step.after != nil && s.holds(step.after, unvalued)
	event := Event{Object: step.after, ResourceVersion: step.version, step: step.step, closes: step.closes}
	switch {
	case before && after && sameUnder(s.fields, step.before, step.after):
		return Event{}, false
	case before && after:
		event.Type, event.Before = Modified, step.before
	case after:
		event.Type = Added
	case before:
		event.Type, event.Object = Deleted, step.before
	default:
		return Event{}, false
	}
	event.Object, event.Before = event.Object.Masked(s.fields), event.Before.Masked(s.fields)
	return event, true
}

// catchUp returns the event that leads a client from a place in the feed to the latest
// state of an object that has changed behind it; false if the client cannot hold the
// object, before or after. What the selection held at that place is not known any more:
// so Modified may name an object that it did not hold, or one that is the same under the
// selection's mask, and Deleted what it did not hold as well, without content.
func (s *Selection) catchUp(state latest, place uint64, unvalued *leftOut) (Event, bool) {
	madeSince := state.made > place
	held := !state.deleted && s.holds(state.object, unvalued)
	event := Event{Object: state.object.Masked(s.fields), ResourceVersion: state.version}
	switch {
	case held && madeSince:
		event.Type = Added
	case held:
		event.Type = Modified
	case madeSince || !s.names(state.object):
		return Event{}, false
	default:
		event.Type, event.Object = Deleted, gone(state.object, state.object.uid, state.version)
	}
	return event, true
}
