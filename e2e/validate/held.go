package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var addedIsNew = rule{
	guarantee: Unique,
	name:      "ADDED is what the caller does not hold",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_ADDED {
			return ""
		}
		return fmt.Sprintf("the caller holds it at version %s", held.GetResourceVersion())
	},
}

var changedIsHeld = rule{
	guarantee: Complete,
	name:      "MODIFIED and DELETED are what the caller holds",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if _, ok := model.Objects[KeyOf(event.GetObject())]; ok || !isChange(event) {
			return ""
		}
		return "the caller does not hold it"
	},
}

var changedIsTheSame = rule{
	guarantee: Complete,
	name:      "MODIFIED and DELETED are of one and the same object",
	exact:     true,
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || !isChange(event) || held.GetUid() == event.GetObject().GetUid() {
			return ""
		}
		return fmt.Sprintf("the caller holds UID %s under its name, not %s", held.GetUid(), event.GetObject().GetUid())
	},
}

func isChange(event *kubeconnectv1.Event) bool {
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED ||
		event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED
}
