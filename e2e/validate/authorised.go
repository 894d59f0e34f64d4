package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var comesByRight = check{
	guarantee: Authorised,
	name:      "an object comes to those alone who have the right to it",
	broken: func(j *judge) string {
		if j.evidence.Rights == nil || !isAboutObject(j.event) {
			return ""
		}
		key := KeyOf(j.event.GetObject())
		if _, held := j.model.Objects[key]; held && j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return "" // what is held must go when the right to it has gone
		}
		return j.lacksRight(key, j.response.At)
	},
}

var changeFollowsRights = check{
	guarantee: Authorised,
	name:      "nothing comes or goes for rights that have not changed",
	broken: func(j *judge) string {
		if !j.isOfRights() {
			return ""
		}
		key, since := KeyOf(j.event.GetObject()), j.call.Began
		if j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			since = j.response.At.Add(-j.evidence.Recheck)
		}
		if !j.hasHadRight(key, since) {
			return ""
		}
		return fmt.Sprintf("the right to %s has been there since %s", key, clock(since))
	},
}

// isOfRights tells whether an event is about a change of rights rather than of an
// object. What is gained is ADDED as it is, at the stream's version; what is lost is
// DELETED there, without content.
func (j *judge) isOfRights() bool {
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

// hasHadRight tells whether there was a right to an object all the time since a moment,
// and everybody must have noticed.
func (j *judge) hasHadRight(key Key, since time.Time) bool {
	return j.evidence.Rights == nil || j.evidence.Rights.throughout(key, since, j.response.At, j.evidence.Recheck)
}

var lossEndsInDeleted = check{
	guarantee: Authorised,
	name:      "a right that is lost ends in DELETED",
	broken:    func(j *judge) string { return j.heldWithoutRight(j.response.At) },
}

var lossEndsInDeletedAtTheEnd = check{
	guarantee: Authorised,
	name:      "a right that is lost ends in DELETED before the stream ends",
	broken:    func(j *judge) string { return j.heldWithoutRight(j.call.Ended) },
}

// heldWithoutRight says so if the caller still holds, after a moment, what it has lost
// the right to.
func (j *judge) heldWithoutRight(at time.Time) string {
	if j.evidence.Rights == nil || at.IsZero() {
		return ""
	}
	var lacking []string
	for key := range j.model.Objects {
		if problem := j.lacksRight(key, at); problem != "" {
			lacking = append(lacking, problem)
		}
	}
	slices.Sort(lacking)
	return strings.Join(lacking[:min(len(lacking), shownDifferences)], "; ")
}

// lacksRight says so if there was no right to an object at a moment, nor just before
// it: a revocation may go unnoticed until rights are checked again.
func (j *judge) lacksRight(key Key, at time.Time) string {
	if j.evidence.Rights.within(key, at.Add(-j.evidence.Recheck), at) {
		return ""
	}
	return fmt.Sprintf("at %s there is no right to %s, nor was there %v before", clock(at), key, j.evidence.Recheck)
}
