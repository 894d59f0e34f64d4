package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var sentWithPermission = check{
	guarantee: Authorised,
	name:      "an object is sent only to a client with permission to read it",
	broken: func(j *judge) string {
		if j.evidence.Rights == nil || !isAboutObject(j.event) {
			return ""
		}
		key := KeyOf(j.event.GetObject())
		if _, held := j.model.Objects[key]; held && j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return "" // a client that lost the permission must receive the DELETED
		}
		return j.missingPermission(key, j.response.At)
	},
}

var changeFollowsPermissions = check{
	guarantee: Authorised,
	name:      "no event for a change of permissions without such a change",
	broken: func(j *judge) string {
		if !j.isPermissionChange() {
			return ""
		}
		key, since := KeyOf(j.event.GetObject()), j.call.Began
		if j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			since = j.response.At.Add(-j.evidence.Recheck)
		}
		if !j.hadPermission(key, since) {
			return ""
		}
		return fmt.Sprintf("the permission to read %s has existed since %s", key, clock(since))
	},
}

// isPermissionChange reports whether an event is caused by a change of permissions and not by a
// change of an object. A gained object is ADDED in its current state, at the stream's version; a
// lost one is DELETED at that version, without content.
func (j *judge) isPermissionChange() bool {
	if j.evidence.Rights == nil || !j.model.Synced {
		return false
	}
	switch object := j.event.GetObject(); j.event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
		return isNewer(j.event.GetResourceVersion(), object.GetResourceVersion())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		return object.GetContent() == nil && !j.catchUp
	}
	return false
}

// hadPermission reports whether the client has had permission to read an object since a moment, and
// every component must have noticed it.
func (j *judge) hadPermission(key Key, since time.Time) bool {
	return j.evidence.Rights == nil || j.evidence.Rights.throughout(key, since, j.response.At, j.evidence.Recheck)
}

var lossEndsInDeleted = check{
	guarantee: Authorised,
	name:      "a lost permission leads to DELETED",
	broken:    func(j *judge) string { return j.heldWithoutPermission(j.response.At) },
}

var lossEndsInDeletedAtTheEnd = check{
	guarantee: Authorised,
	name:      "a lost permission leads to DELETED before the stream ends",
	broken:    func(j *judge) string { return j.heldWithoutPermission(j.call.Ended) },
}

// heldWithoutPermission describes the objects that the client still has at a moment although it has
// lost the permission to read them; it returns an empty string if there are none.
func (j *judge) heldWithoutPermission(at time.Time) string {
	if j.evidence.Rights == nil || at.IsZero() {
		return ""
	}
	var lacking []string
	for key := range j.model.Objects {
		if problem := j.missingPermission(key, at); problem != "" {
			lacking = append(lacking, problem)
		}
	}
	slices.Sort(lacking)
	return strings.Join(lacking[:min(len(lacking), shownDifferences)], "; ")
}

// missingPermission returns a problem if the client had no permission to read an object at a
// moment, nor within Recheck before it: a revocation may go unnoticed until permissions are
// re-checked.
func (j *judge) missingPermission(key Key, at time.Time) string {
	if j.evidence.Rights.within(key, at.Add(-j.evidence.Recheck), at) {
		return ""
	}
	return fmt.Sprintf("no permission at %s to read %s, nor in the %v before", clock(at), key, j.evidence.Recheck)
}
