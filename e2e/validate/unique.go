package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var toldOnceOnly = check{
	guarantee: Unique,
	name:      "a change is told once between two RESETs",
	broken: func(j *judge) string {
		if isAboutObject(j.event) && !j.isOfRights() && !j.isDeletedAgain() && j.told[stepOf(j.event)] {
			return fmt.Sprintf("the change of UID %s at version %s has been told before", j.event.GetObject().GetUid(), j.event.GetResourceVersion())
		}
		return ""
	},
}

// isDeletedAgain reports whether the event is a DELETED that the caller may have had before
// the token of this call, by itself or by not finding the object in its snapshot. It comes
// again if its version is newer than what the token closes: the service cannot know.
func (j *judge) isDeletedAgain() bool {
	version := j.event.GetResourceVersion()
	return j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED && j.call.Token != "" && j.model.Resets == j.resumed.Resets &&
		!j.resumed.isClosed(version) && !isNewer(version, j.resumed.Newest) && (j.toldBefore[stepOf(j.event)] || !j.told[stepOf(j.event)])
}
