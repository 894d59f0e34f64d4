package validate

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestWrites_HeldReturnsObjectsOfTheSelection(t *testing.T) {
	writes := history()
	if held := writes.Held(web); len(held) != 2 || held[Key{"ns", "a"}] != "12" || held[Key{"ns", "b"}] != "13" {
		t.Errorf("objects held in the end: %v", held)
	}
	writes.Add(deletedBy("b", "15"))
	if held := writes.Held(Selection{}); len(held) != 2 || held[Key{"ns", "c"}] != "8" {
		t.Errorf("objects held in the end: %v", held)
	}
	if count := writes.Count(); count != 10 {
		t.Errorf("%d writes", count)
	}
}

func TestWrites_DifferencesCompareFinalObjects(t *testing.T) {
	a, b := withUID(object(added, "a", "12"), "second"), object(added, "b", "13")
	elsewhere := func(string) bool { return false }
	for name, test := range map[string]struct {
		events  []*kubeconnectv1.Event
		allowed func(string) bool
		want    bool
	}{
		"all objects":              {events: []*kubeconnectv1.Event{a, b}, want: true},
		"one is missing":           {events: []*kubeconnectv1.Event{a}},
		"one is older":             {events: []*kubeconnectv1.Event{a, object(added, "b", "4")}},
		"one is in addition":       {events: []*kubeconnectv1.Event{a, b, object(added, "c", "8")}},
		"none without permission":  {allowed: elsewhere, want: true},
		"some without permission":  {events: []*kubeconnectv1.Event{a, b}, allowed: elsewhere},
		"some that are not judged": {events: []*kubeconnectv1.Event{a, b, inNamespace("other", object(added, "x", "1"))}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var model Model
			for _, event := range test.events {
				model.Apply(event)
			}
			if got := history().Differences(web, model.Objects, test.allowed); (len(got) == 0) != test.want {
				t.Errorf("differences %q", got)
			}
		})
	}
}

func TestWrites_ExcludedObjectsAreNotValidated(t *testing.T) {
	recording := correctRecording()
	recording.Calls[0].Responses[0].Events[1] = full(object(added, "a", "3"))
	recording.Calls[0].Responses = recording.Calls[0].Responses[:1]
	evidence := all()
	evidence.Silence = 0
	if len(recording.Violations(evidence)) == 0 {
		t.Fatal("no violation found for a version that was never written")
	}
	evidence.Writes.Forget(Key{"ns", "a"})
	for _, violation := range recording.Violations(evidence) {
		t.Error(violation)
	}
}
