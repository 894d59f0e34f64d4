package record_test

import (
	"os"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

func TestSave_WritesTheStreamAndBeforeStopsAtAViolation(t *testing.T) {
	recording := &validate.Recording{Name: "the stream", Calls: []validate.Call{
		{Responses: []validate.Response{{Token: "first", Events: []*kubeconnectv1.Event{
			{Type: kubeconnectv1.EventType_EVENT_TYPE_RESET}, {Type: kubeconnectv1.EventType_EVENT_TYPE_SYNCED, ResourceVersion: "5"},
		}}}},
		{Token: "first", From: &validate.Place{}, Responses: []validate.Response{{Events: []*kubeconnectv1.Event{
			{Type: kubeconnectv1.EventType_EVENT_TYPE_ADDED, ResourceVersion: "7", Object: &kubeconnectv1.Object{Name: "a", ResourceVersion: "6"}},
			{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK, ResourceVersion: "8"},
		}}}},
	}}
	before := strings.Join(record.Before(recording, validate.Violation{Index: 2}), "\n")
	wantIn(t, before, "SYNCED@5", "ADDED a@6 in version 7", "back after response 0 of call 0")
	if strings.Contains(before, "BOOKMARK") {
		t.Errorf("lines after the violation:\n%s", before)
	}
	path, err := record.Save(t.TempDir(), recording)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, string(text), "the stream\n", `token "first"`, "0 RESET", "3 BOOKMARK@8")
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("missing %q in\n%s", part, text)
		}
	}
}
