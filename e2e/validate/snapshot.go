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
		return "no RESET precedes it"
	},
}

// Objects that have been sent may change before the rest of the snapshot is sent.
var snapshotChangesWhatWasSent = rule{
	guarantee: Complete,
	name:      "a snapshot consists of ADDED, and changes of the objects ADDED, up to SYNCED",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Resets == 0 || model.Synced {
			return ""
		}
		_, sent := model.Objects[KeyOf(event.GetObject())]
		switch {
		case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			return "it is inside a snapshot"
		case isChange(event) && !sent:
			return "its object has not been sent in this snapshot"
		}
		return ""
	},
}

var snapshotEnds = rule{
	guarantee: Complete,
	name:      "a snapshot is completed once",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Synced && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			return "there was no RESET since the last SYNCED"
		}
		return ""
	},
}
