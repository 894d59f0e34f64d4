package validate

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var deliveredOnce = rule{
	guarantee: Unique,
	name:      "a change is delivered once",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return ""
		}
		if held.GetResourceVersion() == event.GetObject().GetResourceVersion() && !isRewritten(held, event) {
			return "the client has this version"
		}
		return ""
	},
}

// isRewritten reports whether an event has another content of the client's object at the same
// object version. Such an event has a newer version of its own.
func isRewritten(held *kubeconnectv1.Object, event *kubeconnectv1.Event) bool {
	own := event.GetResourceVersion()
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED &&
		held.GetResourceVersion() == event.GetObject().GetResourceVersion() &&
		own != held.GetResourceVersion() && olderVersion(held.GetResourceVersion(), own) == "" &&
		!proto.Equal(held, event.GetObject())
}

var versionsGoForward = rule{
	guarantee: Ordered,
	name:      "an object's version never decreases",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		held, ok := model.Objects[KeyOf(event.GetObject())]
		if !ok || event.GetObject().GetContent() == nil && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return "" // a head alone has the version that the replica knew last
		}
		return olderVersion(held.GetResourceVersion(), event.GetObject().GetResourceVersion())
	},
}

var eventsGoForward = rule{
	guarantee: Ordered,
	name:      "events are sent in order of their versions",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		switch {
		case !model.Synced || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET:
			return ""
		case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			if model.Closed == "" {
				return ""
			}
			// More may be deleted at the version of the last DELETED.
			return olderVersion(model.Closed, event.GetResourceVersion())
		}
		return olderVersion(model.Newest, event.GetResourceVersion())
	},
}

var syncedIsNewest = rule{
	guarantee: Ordered,
	name:      "SYNCED is not older than anything in its snapshot",
	broken: func(model *Model, event *kubeconnectv1.Event) string {
		if model.Newest == "" || event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			return ""
		}
		return olderVersion(model.Newest, event.GetResourceVersion())
	},
}

var bookmarkCloses = check{
	guarantee: Bookmarked,
	name:      "no event follows a bookmark at its version or an older one",
	broken: func(j *judge) string {
		if !j.model.Synced || !isAboutObject(j.event) || isNewer(j.event.GetResourceVersion(), j.model.Bookmarked) {
			return ""
		}
		if version := j.event.GetResourceVersion(); version == j.model.SyncedAt && version == j.model.Bookmarked && j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
			return "" // another object was deleted at the version of the snapshot
		}
		if j.mayRepeatDeletion() {
			return ""
		}
		if j.isPermissionChange() || j.event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_ADDED && !j.hadPermission(KeyOf(j.event.GetObject()), j.call.Began) {
			return "" // it has the stream's version, which may be its own
		}
		return fmt.Sprintf("a bookmark has closed version %s", j.model.Bookmarked)
	},
}

// olderVersion returns a problem if the version after is older than the version before.
func olderVersion(before, after string) string {
	order, err := resourceversion.CompareResourceVersion(before, after)
	if err != nil {
		return err.Error()
	}
	if order > 0 {
		return fmt.Sprintf("version %s follows %s", after, before)
	}
	return ""
}
