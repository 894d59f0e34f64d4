package informerhub

import "github.com/kubeconnect/kubeconnect/informerhub/object"

// transition returns the event of a change under a selection; false if the change causes none.
func (s *Selection) transition(step change, unvalued *unvaluedCount) (Event, bool) {
	before := step.before != nil && s.Matches(step.before)
	after := step.after != nil && s.matchesCounting(step.after, unvalued)
	event := Event{Object: step.after, ResourceVersion: step.version, step: step.step, closes: step.closes}
	switch {
	case before && after && object.EqualUnder(s.fields, step.before, step.after):
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

// latestStateEvent returns the event that takes a client from a cursor to the latest state of an
// object that has changed after it; false if the client cannot hold the object before or after. The
// content of the selection at that cursor is no longer known. So Modified may name an object that
// the client did not hold, or one that is unchanged under the selection's mask. Deleted may name an
// object that the client did not hold, too, and has no content. An open deletion is always sent: the
// Bookmark that follows has an older version, at which the object existed.
func (s *Selection) latestStateEvent(state latest, cursor uint64, unvalued *unvaluedCount) (Event, bool) {
	createdSince := state.createdSeq > cursor
	held := !state.deleted && s.matchesCounting(state.object, unvalued)
	event := Event{Object: state.object.Masked(s.fields), ResourceVersion: state.version}
	switch {
	case held && createdSince:
		event.Type = Added
	case held:
		event.Type = Modified
	case createdSince && !state.open, !s.canContain(state.object):
		return Event{}, false
	default:
		event.Type, event.Object = Deleted, state.object.Tombstone(state.object.UID(), state.version)
	}
	return event, true
}
