package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var addedIsNew = rule{
	guarantee: Unique,
	name:      "ADDED is for an object that the client does not have",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_ADDED {
			return ""
		}
		return fmt.Sprintf("the client has it at version %s", held.GetResourceVersion())
	},
}

var changedIsHeld = rule{
	guarantee: Complete,
	name:      "MODIFIED and DELETED are for an object that the client has",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if _, ok := model.Objects[KeyOf(event.GetObject())]; ok || !isChange(event) {
			return ""
		}
		return "the client does not have it"
	},
}

var modifiedIsTheSame = rule{
	guarantee: Complete,
	name:      "MODIFIED has the UID that the client has",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_MODIFIED {
			return ""
		}
		return otherUID(model, event)
	},
}

// deletedIsTheSame applies to latest states too: a client that identifies objects by their names must
// not lose one that was created after the deletion.
var deletedIsTheSame = rule{
	guarantee: Complete,
	name:      "DELETED has the UID that the client has, or none",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_DELETED || event.GetObject().GetUid() == "" {
			return ""
		}
		return otherUID(model, event)
	},
}

func otherUID(model *Model, event *kubeconnectv1.Event) string {
	held, ok := model.Objects[KeyOf(event.GetObject())]
	if !ok || held.GetUid() == event.GetObject().GetUid() {
		return ""
	}
	return fmt.Sprintf("the client has UID %s under that name, not %s", held.GetUid(), event.GetObject().GetUid())
}

func isChange(event *kubeconnectv1.Event) bool {
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED ||
		event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED
}
