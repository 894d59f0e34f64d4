package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var objectIsThere = rule{
	name: "ADDED, MODIFIED and DELETED carry an object, the others none",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		object := event.GetObject()
		switch {
		case !isAboutObject(event) && object != nil:
			return "it carries an object"
		case isAboutObject(event) && (object.GetName() == "" || object.GetUid() == ""):
			return "it carries no object with name and UID"
		}
		return ""
	},
}

var versionIsThere = rule{
	name: "an event has the version that it stands for",
	broken: func(_ *Model, event *kubeconnectv1.Event) string {
		own, ofObject := event.GetResourceVersion(), event.GetObject().GetResourceVersion()
		switch event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_UNSPECIFIED:
			return "its type is unspecified"
		case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
			return differs(own, ofObject)
		case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
			return notNewer(own, ofObject)
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

// notNewer says so if the event of a deletion is as old as what it deletes.
func notNewer(own, ofObject string) string {
	if own == ofObject {
		return "the object is at that same version"
	}
	return goesBack(ofObject, own)
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
