package kit

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// Added, modified and deleted return the lines in which package record formats the expected events
// of an object of the cluster. A DELETED has the object in its last state within the selection.
func Added(object metav1.Object) string { return line("ADDED", object) }

// Modified returns the line of a MODIFIED event of an object, as record.Line does.
func Modified(object metav1.Object) string { return line("MODIFIED", object) }

// Deleted returns the line of a DELETED event of an object, as record.Line does.
func Deleted(object metav1.Object) string { return line("DELETED", object) }

func line(event string, object metav1.Object) string {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	return event + " " + name + "@" + object.GetResourceVersion()
}

// WantChanges fails the test unless the changes after the snapshot are exactly these.
func WantChanges(t *testing.T, view record.View, want ...string) {
	t.Helper()
	got := record.Lines(record.AfterSnapshot(view.Events))
	if !slices.Equal(got, want) {
		t.Errorf("changes after the snapshot:\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// WantEventVersion checks the version of a change, not that of its object.
func WantEventVersion(t *testing.T, view record.View, index int, want string) {
	t.Helper()
	changes := record.AfterSnapshot(view.Events)
	if len(changes) <= index {
		return // WantChanges has reported it
	}
	if got := changes[index].GetResourceVersion(); got != want {
		t.Errorf("change %d has version %s, want %s", index, got, want)
	}
}
