package record

import (
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Line formats an event as "ADDED namespace/name@version", with the version of the object, or as
// "SYNCED@version".
func Line(event *kubeconnectv1.Event) string {
	description := strings.TrimPrefix(event.GetType().String(), "EVENT_TYPE_")
	if object := event.GetObject(); object != nil {
		return description + " " + validate.KeyOf(object).String() + "@" + object.GetResourceVersion()
	}
	return description + "@" + event.GetResourceVersion()
}

// Lines formats each event with Line.
func Lines(events []*kubeconnectv1.Event) []string {
	var lines []string
	for _, event := range events {
		lines = append(lines, Line(event))
	}
	return lines
}

// Changes returns the events that carry an object: ADDED, MODIFIED and DELETED.
func Changes(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
	var changes []*kubeconnectv1.Event
	for _, event := range events {
		if event.GetObject() != nil {
			changes = append(changes, event)
		}
	}
	return changes
}

// AfterSnapshot returns the changes after the first SYNCED.
func AfterSnapshot(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
	for i, event := range events {
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
			return Changes(events[i+1:])
		}
	}
	return nil
}

// ObjectLines formats each object as "namespace/name@version".
func ObjectLines(objects []*kubeconnectv1.Object) []string {
	var lines []string
	for _, object := range objects {
		lines = append(lines, validate.KeyOf(object).String()+"@"+object.GetResourceVersion())
	}
	return lines
}
