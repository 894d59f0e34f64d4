package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var objectIsPresent = rule{
	guarantee: Complete,
	name:      "ADDED, MODIFIED and DELETED have an object, the others none",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		object := event.GetObject()
		switch {
		case !isAboutObject(event) && object != nil:
			return "it has an object"
		case isAboutObject(event) && (object.GetName() == "" || object.GetUid() == "" && object.GetContent() != nil):
			return "it has no object with name and UID"
		}
		return ""
	},
}

var versionIsPresent = check{
	guarantee: Complete,
	name:      "an event has the version of its change",
	broken: func(j *judge) string {
		own, ofObject := j.event.GetResourceVersion(), j.event.GetObject().GetResourceVersion()
		switch j.event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_UNSPECIFIED:
			return "its type is unspecified"
		case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
			if j.isPermissionChange() {
				return "" // the event has the stream's version, its object may be older
			}
			if held := j.model.Objects[KeyOf(j.event.GetObject())]; held != nil && isRewritten(held, j.event) {
				return ""
			}
			return differs(own, ofObject)
		case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
			if j.event.GetObject().GetContent() == nil {
				return differs(own, ofObject) // the head of a deleted object
			}
			return olderVersion(ofObject, own)
		case kubeconnectv1.EventType_EVENT_TYPE_SYNCED, kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			return missing(own)
		}
		return ""
	},
}

func differs(own, ofObject string) string {
	if own == "" || own != ofObject {
		return fmt.Sprintf("the object is at version %q", ofObject)
	}
	return ""
}

var deletedIsNewer = rule{
	guarantee: Ordered,
	name:      "a deletion is newer than the object that it deletes",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED && event.GetObject().GetContent() != nil &&
			event.GetResourceVersion() == event.GetObject().GetResourceVersion() {
			return "the object has the same version"
		}
		return ""
	},
}

func missing(own string) string {
	if own == "" {
		return "it has no version"
	}
	return ""
}

func isAboutObject(event *kubeconnectv1.Event) bool {
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_ADDED || isChange(event)
}
