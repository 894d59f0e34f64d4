package validate

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var toldOnce = rule{
	guarantee: Unique,
	name:      "one change is told once",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return ""
		}
		if held.GetResourceVersion() == event.GetObject().GetResourceVersion() && !isRewritten(held, event) {
			return "the caller holds this very version"
		}
		return ""
	},
}

// isRewritten reports whether an event is another content of what the caller holds, at the
// same version: the event then has a version of its own.
func isRewritten(held *kubeconnectv1.Object, event *kubeconnectv1.Event) bool {
	own := event.GetResourceVersion()
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED &&
		held.GetResourceVersion() == event.GetObject().GetResourceVersion() &&
		own != held.GetResourceVersion() && goesBack(held.GetResourceVersion(), own) == "" &&
		!proto.Equal(held, event.GetObject())
}

var versionsGoForward = rule{
	guarantee: Ordered,
	name:      "an object's version never goes back",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetObject().GetContent() == nil && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return "" // a head alone says which name is gone, by what the replica knew
		}
		return goesBack(held.GetResourceVersion(), event.GetObject().GetResourceVersion())
	},
}

var eventsGoForward = rule{
	guarantee: Ordered,
	name:      "events come in order of their versions",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if !model.Synced || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
			return ""
		}
		return goesBack(model.Version, event.GetResourceVersion())
	},
}

// goesBack says so if the version after is older than the one before.
func goesBack(before, after string) string {
	order, err := resourceversion.CompareResourceVersion(before, after)
	if err != nil {
		return err.Error()
	}
	if order > 0 {
		return fmt.Sprintf("version %s comes after %s", after, before)
	}
	return ""
}
