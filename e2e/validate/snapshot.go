package validate

import (
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var beginsWithReset = rule{
	guarantee: Complete,
	name:      "a stream begins with RESET",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Resets > 0 || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
			return ""
		}
		return "no RESET has come before it"
	},
}

var snapshotIsAdded = rule{
	guarantee: Complete,
	name:      "a snapshot is ADDED up to SYNCED",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Resets == 0 || model.Synced {
			return ""
		}
		switch event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
			kubeconnectv1.EventType_EVENT_TYPE_DELETED,
			kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			return "it stands inside a snapshot"
		}
		return ""
	},
}

var snapshotEnds = rule{
	guarantee: Complete,
	name:      "a snapshot is complete once",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Synced && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			return "no RESET has come since the last SYNCED"
		}
		return ""
	},
}
