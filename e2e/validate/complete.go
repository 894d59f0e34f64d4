package validate

import (
	"fmt"
	"slices"
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// shownDifferences is the number of wrong objects that a violation names.
const shownDifferences = 3

var hasObjectsOfCluster = check{
	guarantee: Complete,
	name:      "a client has the objects that the cluster had at the stream's version",
	broken: func(j *judge) string {
		if j.evidence.Writes == nil || !j.model.Synced || !j.closesVersion() {
			return ""
		}
		differences := j.differences()
		if len(differences) == 0 {
			return ""
		}
		shown := differences[:min(len(differences), shownDifferences)]
		return fmt.Sprintf("at version %s %d objects are wrong: %s", j.model.Newest, len(differences), strings.Join(shown, "; "))
	},
}

// closesVersion reports whether a response states that everything up to its version has been
// delivered: by its last event, or, where every step is sent, by its token.
func (j *judge) closesVersion() bool {
	last := j.response.last()
	if last == nil {
		return false
	}
	switch last.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED, kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
		return true
	}
	// After an outage the position after a response is newer than its last event.
	return j.evidence.EveryStep && j.response.Token != "" && !j.isAmidCatchUp()
}

// isOpen reports whether more events may follow at the newest version that was sent: several objects
// may be deleted at the version of a DELETED. A BOOKMARK behind it has an older version.
func (j *judge) isOpen() bool { return !j.model.isClosed(j.model.Newest) }

// differences describes the objects that the client lacks, and those that it should not have.
func (j *judge) differences() []string {
	var differences []string
	for _, key := range j.evidence.Writes.keys() {
		held := j.model.Objects[key]
		version := j.model.Newest
		if held != nil && j.isOpen() {
			version = newerOf(j.model.Closed, held.GetResourceVersion()) // its DELETED may follow
		}
		state, deleting := j.evidence.Writes.at(key, version)
		if difference := j.difference(held, state, deleting || !j.hadPermission(key, j.response.At)); difference != "" {
			differences = append(differences, key.String()+" "+difference)
		}
	}
	slices.Sort(differences)
	return differences
}

func (j *judge) difference(held *kubeconnectv1.Object, state *Write, mayLack bool) string {
	selected := state != nil && j.recording.Selection.holds(*state)
	switch {
	case selected && held == nil && !mayLack:
		return "is missing, the cluster had it at version " + state.Version
	case held != nil && !selected:
		return "is present at version " + held.GetResourceVersion() + ", the cluster did not have it in the selection"
	case held != nil && !j.standsFor(held, state):
		return fmt.Sprintf("is present at version %s, the cluster had it at %s", held.GetResourceVersion(), state.Version)
	}
	return ""
}

// standsFor reports whether an object of the client stands for a state of the cluster. If the
// client requested a part of the objects, the object may be an older version with the same part;
// and where every step is sent, no version between the two may have another part.
func (j *judge) standsFor(held *kubeconnectv1.Object, state *Write) bool {
	if held.GetResourceVersion() == state.Version {
		return held.GetUid() == state.UID
	}
	view := j.recording.Selection.View
	if !view.hides() || isNewer(held.GetResourceVersion(), state.Version) {
		return false
	}
	for _, between := range j.evidence.Writes.since(state.Key, held.GetUid(), held.GetResourceVersion(), state.Version) {
		if j.evidence.EveryStep && !view.same(&between, state) {
			return false
		}
	}
	return j.evidence.Writes.looks(view, state.Key, held, state.Version)
}

var isAsWritten = check{
	guarantee: Complete,
	name:      "every object that is sent is a state that was written",
	broken: func(j *judge) string {
		object := j.event.GetObject()
		if j.evidence.Writes == nil || !isAboutObject(j.event) || !j.evidence.Writes.Knows(KeyOf(object)) {
			return ""
		}
		if object.GetContent() == nil {
			return "" // the head of a deleted object; its version is that of the deletion
		}
		state := j.evidence.Writes.find(KeyOf(object), object.GetUid(), object.GetResourceVersion())
		switch {
		case state == nil:
			return fmt.Sprintf("UID %s was never written at version %s", object.GetUid(), object.GetResourceVersion())
		case !j.recording.Selection.holds(*state):
			return "the selection did not match that state"
		}
		return ""
	},
}

var everyStepIsSent = check{
	guarantee: Complete,
	name:      "every step is sent while the upstream is reachable",
	broken: func(j *judge) string {
		if j.evidence.Writes == nil || !j.evidence.EveryStep || j.catchUp || j.mayRepeatDeletion() || !j.model.Synced || !isAboutObject(j.event) || j.isPermissionChange() {
			return ""
		}
		key := KeyOf(j.event.GetObject())
		if !j.evidence.Writes.Knows(key) {
			return ""
		}
		before := j.evidence.Writes.before(key, j.event.GetResourceVersion())
		if before == nil || !j.recording.Selection.holds(*before) {
			return ""
		}
		held := j.model.Objects[key]
		if held == nil && !j.hadPermission(key, j.call.Began) {
			return "" // gained by a permission, in the state at the stream's version
		}
		if held == nil || !j.standsFor(held, before) {
			return fmt.Sprintf("version %s in between was not sent", before.Version)
		}
		return ""
	},
}

var contentIsPresent = check{
	guarantee: Complete,
	name:      "an object is sent with its content",
	broken: func(j *judge) string {
		if !isAboutObject(j.event) || j.event.GetObject().GetContent() != nil {
			return ""
		}
		if j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED && (j.catchUp || j.isPermissionChange()) {
			return ""
		}
		return "it has no content"
	},
}

var resetIsFirst = check{
	guarantee: Complete,
	name:      "RESET is the first event of its response",
	broken: func(j *judge) string {
		if j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET && j.response.Events[0] != j.event {
			return "another event precedes it"
		}
		return ""
	},
}

var kindIsPresent = check{
	guarantee: Complete,
	name:      "a response that begins with RESET names the kind",
	broken: func(j *judge) string {
		if j.response.has(kubeconnectv1.EventType_EVENT_TYPE_RESET) && j.response.Kind.GetKind() == "" {
			return "it does not name a kind"
		}
		return ""
	},
}

// kindIsNotRepeated judges streams whose permissions do not change. While a recreated resource is
// awaited, its kind is repeated.
var kindIsNotRepeated = check{
	guarantee: Complete,
	name:      "only the first response of a stream and a RESET name the kind",
	broken: func(j *judge) string {
		if j.evidence.Rights != nil || j.response.Kind == nil || j.response == &j.call.Responses[0] || j.response.has(kubeconnectv1.EventType_EVENT_TYPE_RESET) {
			return ""
		}
		return "it names the kind again"
	},
}

var recreatedIsDeletedFirst = check{
	guarantee: Complete,
	name:      "a recreated object is preceded by its deletion",
	broken: func(j *judge) string {
		held, ok := j.model.Objects[KeyOf(j.event.GetObject())]
		if !ok || j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED || held.GetUid() == j.event.GetObject().GetUid() {
			return ""
		}
		return fmt.Sprintf("the client still has UID %s under that name", held.GetUid())
	},
}
