package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// wantChangesInAnyOrder is kit.WantChanges for changes whose order is not defined. It returns the
// changes in the order in which they were delivered.
func wantChangesInAnyOrder(t *testing.T, view record.View, want ...string) []string {
	t.Helper()
	got := record.Lines(record.AfterSnapshot(view.Events))
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("changes after the snapshot:\n  %s\nwant, in any order,\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return got
}
