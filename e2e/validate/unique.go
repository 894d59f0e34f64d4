package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var deliveredOnceBetweenResets = check{
	guarantee: Unique,
	name:      "a change is delivered once between two RESETs",
	broken: func(j *judge) string {
		if isAboutObject(j.event) && !j.isPermissionChange() && !j.mayRepeatDeletion() && j.delivered[stepOf(j.event)] {
			return fmt.Sprintf("the change of UID %s at version %s was delivered before", j.event.GetObject().GetUid(), j.event.GetResourceVersion())
		}
		return ""
	},
}

// mayRepeatDeletion reports whether the event is a DELETED whose deletion the client may know from
// before this call's token, by an event or because its snapshot did not contain the object. The
// service sends it again if its version is newer than the version that the token closes, because
// the service cannot know.
func (j *judge) mayRepeatDeletion() bool {
	version := j.event.GetResourceVersion()
	return j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED && j.call.Token != "" && j.model.Resets == j.resumed.Resets &&
		!j.resumed.isClosed(version) && !isNewer(version, j.resumed.Newest) && (j.deliveredBefore[stepOf(j.event)] || !j.delivered[stepOf(j.event)])
}
