package validate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestModel_HoldsObjectsAfterEvents(t *testing.T) {
	for name, test := range map[string]struct {
		events  []*kubeconnectv1.Event
		held    []string
		synced  bool
		version string
	}{
		"before the first event": {},
		"an incomplete snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2")},
			held:   []string{"ns/a@2"},
		},
		"a snapshot": {
			events: []*kubeconnectv1.Event{reset(), object(added, "b", "4"), object(added, "a", "2"), synced("5")},
			held:   []string{"ns/a@2", "ns/b@4"}, synced: true, version: "5",
		},
		"a change": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), synced("5"), object(modified, "a", "6")},
			held:   []string{"ns/a@6"}, synced: true, version: "6",
		},
		"a deletion": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), synced("5"), newDeleted("a", "2", "6"), bookmark("8")},
			synced: true, version: "8",
		},
		"nothing from before RESET": {
			events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), synced("5"), reset(), object(added, "b", "1")},
			held:   []string{"ns/b@1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var model Model
			for _, event := range test.events {
				model.Apply(event)
			}
			if got := held(model); !slices.Equal(got, test.held) {
				t.Errorf("objects %v, want %v", got, test.held)
			}
			if model.Synced != test.synced || model.Version != test.version {
				t.Errorf("synced %v at %q, want %v at %q", model.Synced, model.Version, test.synced, test.version)
			}
		})
	}
}

func TestRecording_ModelAtIsTheStateOfThePathToAPlace(t *testing.T) {
	recording := Recording{Calls: []Call{
		{Responses: []Response{
			{Events: []*kubeconnectv1.Event{reset(), object(added, "a", "2"), synced("5")}},
			{Events: []*kubeconnectv1.Event{object(added, "b", "6")}},
		}},
		{Token: "6", Responses: []Response{{Events: []*kubeconnectv1.Event{newDeleted("a", "2", "7")}}}},
		{Token: "5", From: &Place{Call: 0, Response: 0}},
		{Token: "5", Responses: []Response{{Events: []*kubeconnectv1.Event{object(added, "c", "8")}}}},
		{Responses: []Response{{Events: []*kubeconnectv1.Event{object(added, "d", "3")}}}},
	}}
	for name, test := range map[string]struct {
		place Place
		held  []string
	}{
		"in the first call":                     {Place{Call: 0, Response: 0}, []string{"ns/a@2"}},
		"in a call that continues":              {Place{Call: 1, Response: 0}, []string{"ns/b@6"}},
		"before the first response of a call":   {Place{Call: 3, Response: -1}, []string{"ns/a@2"}},
		"after a call that went back":           {Place{Call: 3, Response: 0}, []string{"ns/a@2", "ns/c@8"}},
		"in a call that starts without objects": {Place{Call: 4, Response: 0}, []string{"ns/d@3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := held(recording.ModelAt(test.place)); !slices.Equal(got, test.held) {
				t.Errorf("objects %v, want %v", got, test.held)
			}
		})
	}
}

func held(model Model) []string {
	var all []string
	for _, key := range slices.SortedFunc(maps.Keys(model.Objects), compare) {
		all = append(all, key.String()+"@"+model.Objects[key].GetResourceVersion())
	}
	return all
}

func compare(a, b Key) int {
	return strings.Compare(a.String(), b.String())
}
