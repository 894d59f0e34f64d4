package validate

import (
	"fmt"
	"reflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Stream is a recording of a client, with the permissions of its caller. Nil are all permissions.
type Stream struct {
	*Recording
	Rights Rights
}

// Together returns the violations of what streams of one resource, which were open at one time, must have
// in common: whatever their questions and callers, a state of an object looks the same to all that
// request the same part of it, and what one of them has at the end, each has that selects it and may
// read it, as far as it has passed that state and no later one.
func Together(streams []Stream, writes *Writes) (violations []Violation) {
	return append(contentDisagreements(streams), missingNextToOthers(streams, writes)...)
}

// sent is an object as a stream sent it.
type sent struct {
	stream Stream
	object *kubeconnectv1.Object
}

// contentDisagreements compares the content of each state in all streams with the same view and encoding.
func contentDisagreements(streams []Stream) (violations []Violation) {
	states := map[step][]sent{}
	for _, stream := range streams {
		for i, call := range stream.Calls {
			for _, response := range call.Responses {
				for _, event := range response.Events {
					if object := event.GetObject(); event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_DELETED && object.GetContent() != nil {
						state := step{KeyOf(object), object.GetUid(), object.GetResourceVersion()}
						now := sent{stream, object}
						first, known := firstLike(states[state], now)
						if !known {
							states[state] = append(states[state], now)
						} else if !sameContent(first.object, object) {
							violations = append(violations, Violation{
								Guarantee: Complete, Rule: "streams with one view send the same content", Stream: stream.Name, Call: i, Event: event,
								Problem: "the content is not that of " + first.stream.Name,
							})
						}
					}
				}
			}
		}
	}
	return violations
}

// firstLike returns what the first stream with the same view and encoding sent.
func firstLike(before []sent, now sent) (first sent, known bool) {
	for _, first := range before {
		if reflect.DeepEqual(first.stream.Selection.View, now.stream.Selection.View) && reflect.TypeOf(first.object.GetContent()) == reflect.TypeOf(now.object.GetContent()) {
			return first, true
		}
	}
	return first, false
}

// missingNextToOthers compares the objects that each stream has at its end with those of the others.
func missingNextToOthers(streams []Stream, writes *Writes) (violations []Violation) {
	models := make([]Model, len(streams))
	for i, stream := range streams {
		models[i] = stream.last()
	}
	for i, has := range streams {
		for key, object := range models[i].Objects {
			state := writes.find(key, object.GetUid(), object.GetResourceVersion())
			if state == nil {
				continue
			}
			for k, other := range streams {
				if problem := other.lacks(&models[k], state, writes); problem != "" {
					violations = append(violations, Violation{
						Guarantee: Complete, Rule: "a stream has what another one has that it selects too", Stream: other.Name, Call: len(other.Calls) - 1,
						Problem: fmt.Sprintf("%s, which %s has", problem, has.Name),
					})
				}
			}
		}
	}
	return violations
}

// lacks describes a state that a stream selects, has passed, and does not have.
func (s Stream) lacks(model *Model, state *Write, writes *Writes) string {
	if !model.Synced || !model.isClosed(state.Version) || !s.Selection.holds(*state) {
		return ""
	}
	// A bookmark behind a deletion, which may not be the only one at its version, is older than the deletion.
	newest := newerOf(model.Newest, model.Version)
	if now, deleting := writes.at(state.Key, newest); now == nil || deleting || now.Version != state.Version {
		return ""
	}
	ended := s.Calls[len(s.Calls)-1].Ended
	if s.Rights != nil && !s.Rights.throughout(state.Key, s.Calls[0].Began, ended, 0) {
		return ""
	}
	held := model.Objects[state.Key]
	switch {
	case held == nil:
		return fmt.Sprintf("%s is missing at version %s", state.Key, state.Version)
	case held.GetUid() != state.UID:
		return fmt.Sprintf("%s has UID %s instead of %s", state.Key, held.GetUid(), state.UID)
	}
	return ""
}

// last returns the client's state at the end of a recording.
func (r *Recording) last() Model {
	if len(r.Calls) == 0 {
		return Model{}
	}
	call := len(r.Calls) - 1
	if responses := len(r.Calls[call].Responses); responses > 0 {
		return r.ModelAt(Place{Call: call, Response: responses - 1})
	}
	return r.modelBefore(call)
}
