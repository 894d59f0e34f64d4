package informer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// version is an object in one state: its UID and resource version.
type version [2]string

func (v version) uid() string { return v[0] }

// call is a call of a handler.
type call struct {
	Handlers string   // the name of the subscription
	Call     string   // add, update or delete
	Name     string   // of the object
	Old      *version // nil for add, and if the handler does not receive it
	New      *version // nil for delete
}

func (c call) String() string {
	text := c.Call + " " + c.Name
	for _, state := range []*version{c.Old, c.New} {
		if state != nil {
			text += " " + strings.Join(state[:], "/")
		}
	}
	return text
}

// contradiction is a call that violates a property.
type contradiction struct {
	property property
	text     string
}

// fold returns the objects as the calls of one subscription leave them, and the calls that do not
// follow from the calls before them.
func fold(calls []call) (objects map[string]version, found []contradiction) {
	objects = make(map[string]version)
	for _, c := range calls {
		before, present := objects[c.Name]
		report := func(violated property, reason string) {
			found = append(found, contradiction{violated, fmt.Sprintf("%s: %s", c, reason)})
		}
		switch {
		case c.Call == "add" && present:
			report(consistentCalls, "the object is present")
		case c.Call != "add" && !present:
			report(consistentCalls, "the object is absent")
		case c.Call == "delete" && c.Old.uid() != before.uid():
			report(consistentCalls, "another object is present")
		case c.Call == "update":
			for _, violated := range contradictionsOfUpdate(c, before) {
				report(violated, fmt.Sprintf("after %v", before))
			}
		}
		if c.New != nil {
			objects[c.Name] = *c.New
		} else {
			delete(objects, c.Name)
		}
	}
	return objects, found
}

// contradictionsOfUpdate returns the properties that an update of a present object violates.
func contradictionsOfUpdate(c call, before version) (violated []property) {
	if c.New.uid() != before.uid() {
		violated = append(violated, recreatedInGap)
	}
	if *c.New == before {
		violated = append(violated, unchangedInGap)
	}
	if c.Old == nil || *c.Old != before {
		violated = append(violated, oldStates)
	}
	return violated
}

// changing returns the calls after the first ones that change the objects. The others are updates from
// a state to the same state.
func changing(calls []call, first int) (found []call) {
	objects := make(map[string]version)
	for i, c := range calls {
		if i >= first && (c.New == nil || *c.New != objects[c.Name]) {
			found = append(found, c)
		}
		if c.New != nil {
			objects[c.Name] = *c.New
		}
	}
	return found
}

// kindsByName returns the calls for each object, in their order.
func kindsByName(calls []call) map[string][]string {
	kinds := make(map[string][]string)
	for _, c := range calls {
		kinds[c.Name] = append(kinds[c.Name], c.Call)
	}
	return kinds
}

func TestFold_ReportsCallsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	one, changed, other := &version{"u", "1"}, &version{"u", "2"}, &version{"v", "3"}
	add := call{Call: "add", Name: "a", New: one}
	for name, test := range map[string]struct {
		calls []call
		want  []property
	}{
		"an object that comes, changes and goes": {calls: []call{add, {Call: "update", Name: "a", Old: one, New: changed}, {Call: "delete", Name: "a", Old: changed}}},
		"a recreation as delete and add":         {calls: []call{add, {Call: "delete", Name: "a", Old: one}, {Call: "add", Name: "a", New: other}}},
		"two additions":                          {calls: []call{add, add}, want: []property{consistentCalls}},
		"an update of an absent object":          {calls: []call{{Call: "update", Name: "a", Old: one, New: changed}}, want: []property{consistentCalls}},
		"a deletion of an absent object":         {calls: []call{{Call: "delete", Name: "a", Old: one}}, want: []property{consistentCalls}},
		"a deletion of another object":           {calls: []call{add, {Call: "delete", Name: "a", Old: other}}, want: []property{consistentCalls}},
		"a recreation as update":                 {calls: []call{add, {Call: "update", Name: "a", Old: one, New: other}}, want: []property{recreatedInGap}},
		"an update without a change":             {calls: []call{add, {Call: "update", Name: "a", Old: one, New: one}}, want: []property{unchangedInGap}},
		"an update from another state":           {calls: []call{add, {Call: "update", Name: "a", Old: other, New: changed}}, want: []property{oldStates}},
		"an update without the earlier state":    {calls: []call{add, {Call: "update", Name: "a", New: changed}}, want: []property{oldStates}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := fold(test.calls)
			var got []property
			for _, each := range found {
				got = append(got, each.property)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("violated: %q, want %q", got, test.want)
			}
		})
	}
}

func TestFold_ReturnsTheObjects(t *testing.T) {
	t.Parallel()
	one, changed := &version{"u", "1"}, &version{"u", "2"}
	got, _ := fold([]call{
		{Call: "add", Name: "a", New: one},
		{Call: "add", Name: "b", New: one},
		{Call: "update", Name: "a", Old: one, New: changed},
		{Call: "delete", Name: "b", Old: one},
	})
	if want := map[string]version{"a": *changed}; !maps.Equal(got, want) {
		t.Errorf("objects %v, want %v", got, want)
	}
}
