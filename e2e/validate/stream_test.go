package validate

import (
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const (
	added    = kubeconnectv1.EventType_EVENT_TYPE_ADDED
	modified = kubeconnectv1.EventType_EVENT_TYPE_MODIFIED
	deleted  = kubeconnectv1.EventType_EVENT_TYPE_DELETED
)

func TestStream_CorrectOnesHaveNoViolations(t *testing.T) {
	for name, events := range map[string][]*kubeconnectv1.Event{
		"no events":             nil,
		"an empty snapshot":     {reset(), synced("5"), bookmark("7")},
		"an unordered snapshot": {reset(), object(added, "b", "4"), object(added, "a", "2"), synced("5")},
		"an object from creation to deletion": {
			reset(), synced("5"),
			object(added, "a", "6"), object(modified, "a", "8"), newDeleted("a", "8", "9"), object(added, "a", "12"), bookmark("12"),
		},
		"an object recreated under the same name": {
			reset(), object(added, "a", "4"), synced("5"),
			newDeleted("a", "4", "7"), withUID(object(added, "a", "7"), "second"),
		},
		"a snapshot interrupted by another": {reset(), object(added, "a", "4"), reset(), object(added, "a", "4"), synced("5")},
		"an older snapshot after RESET":     {reset(), object(added, "a", "9"), synced("9"), reset(), object(added, "a", "3"), synced("4")},
		"a snapshot that changes while it is sent": {
			reset(), object(added, "a", "1"), object(added, "b", "2"), object(modified, "a", "6"), newDeleted("b", "2", "7"),
			withUID(object(added, "b", "8"), "second"), object(added, "c", "3"), synced("8"), object(modified, "a", "9"),
		},
		"several deletions at one version": {
			reset(), object(added, "a", "1"), object(added, "b", "1"), synced("3"), newDeleted("a", "1", "5"), newDeleted("b", "1", "5"), bookmark("5"),
		},
		"BOOKMARK between deletions at one version": {
			reset(), object(added, "a", "1"), object(added, "b", "1"), synced("3"), newDeleted("a", "1", "5"), bookmark("4"), newDeleted("b", "1", "5"), bookmark("5"),
		},
		"versions of more than sixty-four bits": {reset(), synced("9"), object(added, "a", "99999999999999999999999")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range oneByOne(events...).Violations(Evidence{}) {
				t.Error(violation)
			}
		})
	}
}

func TestStream_FaultsAreFoundWithTheirRule(t *testing.T) {
	for name, test := range map[string]struct {
		events []*kubeconnectv1.Event
		rule   string
		index  int
	}{
		"no RESET at the beginning": {
			events: []*kubeconnectv1.Event{object(added, "a", "1")},
			rule:   beginsWithReset.name, index: 0,
		},
		"MODIFIED inside a snapshot, of an object not sent": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(modified, "b", "2"), synced("3")},
			rule:   snapshotChangesWhatWasSent.name, index: 2,
		},
		"DELETED inside a snapshot, of an object not sent": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), newDeleted("b", "1", "2"), synced("3")},
			rule:   snapshotChangesWhatWasSent.name, index: 2,
		},
		"DELETED inside a snapshot, of an object deleted there": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), newDeleted("a", "1", "2"), newDeleted("a", "1", "3"), synced("3")},
			rule:   snapshotChangesWhatWasSent.name, index: 3,
		},
		"an older object inside a snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), object(modified, "a", "1"), synced("3")},
			rule:   versionsGoForward.name, index: 2,
		},
		"BOOKMARK inside a snapshot": {
			events: []*kubeconnectv1.Event{reset(), bookmark("2"), synced("3")},
			rule:   snapshotChangesWhatWasSent.name, index: 1,
		},
		"SYNCED that is older than a change in its snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(modified, "a", "4"), synced("3")},
			rule:   syncedIsNewest.name, index: 3,
		},
		"SYNCED that is older than a deletion in its snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), newDeleted("a", "1", "4"), synced("3")},
			rule:   syncedIsNewest.name, index: 3,
		},
		"a change at the version of SYNCED": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), synced("3"), object(modified, "a", "3")},
			rule:   bookmarkCloses.name, index: 3,
		},
		"a deletion at the version of SYNCED and a BOOKMARK": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(added, "b", "1"), synced("3"), newDeleted("a", "1", "3"), bookmark("4"), newDeleted("b", "1", "3")},
			rule:   bookmarkCloses.name, index: 6,
		},
		"a deletion at the version of BOOKMARK": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(added, "b", "1"), synced("3"), newDeleted("a", "1", "5"), bookmark("5"), newDeleted("b", "1", "5")},
			rule:   bookmarkCloses.name, index: 6,
		},
		"a change older than BOOKMARK": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), bookmark("6"), object(added, "a", "5")},
			rule:   bookmarkCloses.name, index: 3,
		},
		"BOOKMARK that is older than a deletion before the last one": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(added, "b", "1"), synced("3"), newDeleted("a", "1", "5"), newDeleted("b", "1", "6"), bookmark("4")},
			rule:   eventsGoForward.name, index: 6,
		},
		"BOOKMARK that is older than a change": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), object(added, "a", "5"), bookmark("4")},
			rule:   eventsGoForward.name, index: 3,
		},
		"SYNCED twice": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), synced("4")},
			rule:   snapshotEnds.name, index: 2,
		},
		"ADDED of a present object": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), synced("3"), object(added, "a", "4")},
			rule:   addedIsNew.name, index: 3,
		},
		"ADDED twice in a snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(added, "a", "1"), synced("3")},
			rule:   addedIsNew.name, index: 2,
		},
		"MODIFIED of a missing object": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), object(modified, "a", "4")},
			rule:   changedIsHeld.name, index: 2,
		},
		"DELETED of a missing object": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), newDeleted("a", "2", "4")},
			rule:   changedIsHeld.name, index: 2,
		},
		"a recreated object as MODIFIED": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), synced("3"), withUID(object(modified, "a", "4"), "second")},
			rule:   modifiedIsTheSame.name, index: 3,
		},
		"a deletion with the new object's UID": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), synced("3"), withUID(newDeleted("a", "1", "4"), "second")},
			rule:   deletedIsTheSame.name, index: 3,
		},
		"a change sent twice": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "1"), synced("3"), object(modified, "a", "4"), object(modified, "a", "4")},
			rule:   deliveredOnce.name, index: 4,
		},
		"an older version": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), synced("3"), object(modified, "a", "1")},
			rule:   versionsGoForward.name, index: 3,
		},
		"version nine after version ten": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "10"), synced("10"), object(modified, "a", "9")},
			rule:   versionsGoForward.name, index: 3,
		},
		"an older event after a newer one": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), object(added, "a", "7"), object(added, "b", "6")},
			rule:   eventsGoForward.name, index: 3,
		},
		"an event older than the snapshot": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), object(added, "a", "2")},
			rule:   eventsGoForward.name, index: 2,
		},
		"BOOKMARK older than the one before": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), bookmark("5"), bookmark("4")},
			rule:   eventsGoForward.name, index: 3,
		},
		"ADDED without an object": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), {Type: added, ResourceVersion: "4"}},
			rule:   objectIsPresent.name, index: 2,
		},
		"SYNCED with an object": {
			events: []*kubeconnectv1.Event{reset(), object(kubeconnectv1.EventType_EVENT_TYPE_SYNCED, "a", "3")},
			rule:   objectIsPresent.name, index: 1,
		},
		"an event without a type": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), {ResourceVersion: "4"}},
			rule:   versionIsPresent.name, index: 2,
		},
		"SYNCED without a version": {
			events: []*kubeconnectv1.Event{reset(), {Type: kubeconnectv1.EventType_EVENT_TYPE_SYNCED}},
			rule:   versionIsPresent.name, index: 1,
		},
		"ADDED with another version than the object's": {
			events: []*kubeconnectv1.Event{reset(), synced("3"), at("5", object(added, "a", "4"))},
			rule:   versionIsPresent.name, index: 2,
		},
		"DELETED with the version of the object": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "4"), synced("4"), full(newDeleted("a", "4", "4"))},
			rule:   deletedIsNewer.name, index: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			violations := oneByOne(test.events...).Violations(Evidence{})
			if !slices.ContainsFunc(violations, func(v Violation) bool {
				return v.Rule == test.rule && v.Index == test.index
			}) {
				t.Errorf("no violation of %q at event %d among %v", test.rule, test.index, violations)
			}
		})
	}
}

func TestStream_ResumedCanSendLatestStatesOnly(t *testing.T) {
	first := []*kubeconnectv1.Event{reset(), object(added, "a", "1"), object(added, "b", "2"), synced("3")}
	latest := []*kubeconnectv1.Event{
		object(modified, "new", "5"), newDeleted("a", "6", "6"), newDeleted("never-seen", "7", "7"),
		newDeleted("b", "2", "8"), withUID(object(modified, "b", "8"), "second"),
	}
	for _, violation := range oneByOne(first...).resumedWith(latest...).Violations(Evidence{}) {
		t.Error(violation)
	}
	for name, wrong := range map[string]*kubeconnectv1.Event{
		"but no change twice":                          withUID(object(modified, "b", "8"), "second"),
		"but no older state":                           withUID(object(modified, "b", "7"), "second"),
		"but no event out of order":                    object(added, "c", "4"),
		"but no event without type":                    {ResourceVersion: "9"},
		"but no deletion at the version of its object": full(newDeleted("b", "9", "9")),
	} {
		t.Run(name, func(t *testing.T) {
			recording := oneByOne(first...).resumedWith(append(slices.Clip(latest), wrong)...)
			if len(recording.Violations(Evidence{})) == 0 {
				t.Error("no violation found")
			}
		})
	}
}

func TestViolation_NamesEventAndReason(t *testing.T) {
	violations := oneByOne(reset(), synced("3"), newDeleted("a", "2", "4")).Violations(Evidence{})
	if len(violations) != 1 {
		t.Fatalf("want one violation, got %v", violations)
	}
	text := violations[0].String()
	for _, word := range []string{"event 2", "DELETED", "ns/a", `"4"`, changedIsHeld.name, "does not have it"} {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not contain %q", text, word)
		}
	}
}

// oneByOne returns a recording in which each event is a response of its own, with the other fields
// that the response needs.
func oneByOne(events ...*kubeconnectv1.Event) *Recording {
	var call Call
	var model Model
	for _, event := range events {
		model.Apply(event)
		response := Response{At: began, Events: []*kubeconnectv1.Event{event}}
		if model.Synced {
			response.Token = "token at " + model.Version
		}
		switch event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_RESET:
			response = begins(response)
		case kubeconnectv1.EventType_EVENT_TYPE_SYNCED, kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			response = fresh(response)
		}
		call.Responses = append(call.Responses, withContent(response))
	}
	return &Recording{Calls: []Call{call}}
}

// resumedWith appends a call that resumes with latest states.
func (r *Recording) resumedWith(events ...*kubeconnectv1.Event) *Recording {
	response := withContent(Response{At: began, Token: "another token", Events: events})
	r.Calls = append(r.Calls, Call{Token: "token", Responses: []Response{response}})
	return r
}

func withContent(response Response) Response {
	for _, event := range response.Events {
		if event.GetObject() != nil && event.GetResourceVersion() != event.GetObject().GetResourceVersion() ||
			event.GetType() != deleted && event.GetObject() != nil {
			full(event)
		}
	}
	return response
}

func reset() *kubeconnectv1.Event {
	return &kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_RESET}
}

func synced(version string) *kubeconnectv1.Event {
	return &kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_SYNCED, ResourceVersion: version}
}

func bookmark(version string) *kubeconnectv1.Event {
	return &kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK, ResourceVersion: version}
}

func object(eventType kubeconnectv1.EventType, name, version string) *kubeconnectv1.Event {
	return &kubeconnectv1.Event{
		Type:            eventType,
		ResourceVersion: version,
		Object:          &kubeconnectv1.Object{Namespace: "ns", Name: name, Uid: "first", ResourceVersion: version},
	}
}

// newDeleted returns the deletion of an object that was last seen at a version.
func newDeleted(name, lastSeen, version string) *kubeconnectv1.Event {
	return at(version, object(deleted, name, lastSeen))
}

func at(version string, event *kubeconnectv1.Event) *kubeconnectv1.Event {
	event.ResourceVersion = version
	return event
}

func withUID(event *kubeconnectv1.Event, uid string) *kubeconnectv1.Event {
	event.Object.Uid = uid
	return event
}
