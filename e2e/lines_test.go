package e2e_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// added, modified and deleted return the lines in which package record formats the expected events
// of an object of the cluster. A DELETED has the object in its last state within the selection.
func added(object metav1.Object) string    { return line("ADDED", object) }
func modified(object metav1.Object) string { return line("MODIFIED", object) }
func deleted(object metav1.Object) string  { return line("DELETED", object) }

func line(event string, object metav1.Object) string {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	return event + " " + name + "@" + object.GetResourceVersion()
}

// wantChanges fails the test unless the changes after the snapshot are exactly these.
func wantChanges(t *testing.T, view record.View, want ...string) {
	t.Helper()
	got := record.Lines(record.AfterSnapshot(view.Events))
	if !slices.Equal(got, want) {
		t.Errorf("changes after the snapshot:\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantChangesInAnyOrder is wantChanges for changes whose order is not defined. It returns the
// changes in the order in which they were delivered.
func wantChangesInAnyOrder(t *testing.T, view record.View, want ...string) []string {
	t.Helper()
	got := record.Lines(record.AfterSnapshot(view.Events))
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("changes after the snapshot:\n  %s\nwant, in any order,\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return got
}
