package validate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// painted returns the writes to one object: its number changes at each version, its color at 2, 6
// and 12, and at 8 it has no label.
func painted() *Writes {
	writes := NewWrites("ns")
	for _, state := range []struct{ version, number, color, label string }{
		{"2", "1", "red", "web"}, {"4", "2", "red", "web"}, {"6", "3", "blue", "web"},
		{"8", "4", "blue", ""}, {"10", "5", "blue", "web"}, {"12", "6", "green", "web"},
	} {
		writes.Add(paint(state.version, state.number, state.color, state.label))
	}
	return writes
}

func paint(version, number, color, label string) Write {
	metadata := map[string]any{"name": "a", "resourceVersion": version}
	write := written("a", version)
	write.Labels = nil
	if label != "" {
		write.Labels = labels.Set{"app": label}
		metadata["labels"] = map[string]any{"app": label}
	}
	write.Content = map[string]any{"metadata": metadata, "data": map[string]any{"number": number, "color": color}}
	return write
}

// inView returns an event with the part of a state of the painted object that a view shows.
func inView(view View, eventType kubeconnectv1.EventType, version, state string) *kubeconnectv1.Event {
	event := object(eventType, "a", state)
	event.ResourceVersion = version
	text, _ := json.Marshal(view.show(painted().find(Key{"ns", "a"}, "first", state).Content))
	return withJSON(event, string(text))
}

func selection(t *testing.T, request *kubeconnectv1.WatchRequest) Selection {
	t.Helper()
	selection, err := SelectionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

func TestView_ShowsThePathsAlone(t *testing.T) {
	content := paint("2", "1", "red", "web").Content
	content["metadata"].(map[string]any)["annotations"] = map[string]any{"example.com/a.b": "c"}
	for name, test := range map[string]struct {
		request *kubeconnectv1.WatchRequest
		want    string
	}{
		"no fields": {&kubeconnectv1.WatchRequest{}, `{"data":{"color":"red","number":"1"},"metadata":{"annotations":{"example.com/a.b":"c"},"labels":{"app":"web"},"name":"a","resourceVersion":"2"}}`},
		"two paths of one object": {
			&kubeconnectv1.WatchRequest{Fields: []string{"data.color", "data.number"}}, `{"data":{"color":"red","number":"1"}}`,
		},
		"a quoted name": {
			&kubeconnectv1.WatchRequest{Fields: []string{"metadata.annotations['example.com/a.b']"}}, `{"metadata":{"annotations":{"example.com/a.b":"c"}}}`,
		},
		"missing members": {&kubeconnectv1.WatchRequest{Fields: []string{"spec.color", "data.color.x"}}, `{}`},
		"metadata only": {
			&kubeconnectv1.WatchRequest{MetadataOnly: true, Fields: []string{"kind", "metadata.name", "data"}},
			`{"kind":"PartialObjectMetadata","metadata":{"name":"a"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := selection(t, test.request).View.show(content); !reflect.DeepEqual(normal(got), want) {
				t.Errorf("view shows %v, want %v", got, want)
			}
		})
	}
	for _, wrong := range []string{"", ".a", "a[0]", "a[*]", "a['b", "..a"} {
		if _, err := SelectionOf(&kubeconnectv1.WatchRequest{Fields: []string{wrong}}); err == nil {
			t.Errorf("path %q is accepted", wrong)
		}
	}
}

func TestFilters_MatchAsExpressed(t *testing.T) {
	for expression, test := range map[string]struct{ yes, no []string }{
		`object.metadata.labels.color == "red"`: {
			yes: []string{`{"metadata":{"labels":{"color":"red"}}}`},
			no:  []string{`{"metadata":{"labels":{"color":"blue"}}}`, `{"metadata":{}}`},
		},
		`object.metadata.labels.color in ["red", "green"] && object.metadata.name != "traffic-1"`: {
			yes: []string{`{"metadata":{"name":"a","labels":{"color":"green"}}}`},
			no:  []string{`{"metadata":{"name":"traffic-1","labels":{"color":"green"}}}`, `{"metadata":{"name":"a"}}`},
		},
		`!has(object.metadata.labels)`: {
			yes: []string{`{"metadata":{}}`}, no: []string{`{"metadata":{"labels":{"color":"red"}}}`},
		},
		`object.data.number.endsWith("0") || object.data.color == "blue"`: {
			yes: []string{`{"data":{"number":"10","color":"red"}}`, `{"data":{"number":"1","color":"blue"}}`},
			no:  []string{`{"data":{"number":"1","color":"red"}}`, `{}`},
		},
		`object.spec.color != "green"`: {
			yes: []string{`{"spec":{"color":"red"}}`}, no: []string{`{"spec":{"color":"green"}}`, `{"spec":{}}`},
		},
	} {
		filter := selection(t, &kubeconnectv1.WatchRequest{Filter: expression})
		for want, texts := range map[bool][]string{true: test.yes, false: test.no} {
			for _, text := range texts {
				write := written("a", "1")
				if err := json.Unmarshal([]byte(text), &write.Content); err != nil {
					t.Fatal(err)
				}
				if filter.holds(write) != want {
					t.Errorf("%s matches %s: %v", expression, text, !want)
				}
			}
		}
	}
	if _, err := SelectionOf(&kubeconnectv1.WatchRequest{Filter: "true"}); err == nil {
		t.Error("an unknown filter is accepted")
	}
}

// Each stream is of the painted object: all its events, unchanged or with one fault.
func TestView_IsValidated(t *testing.T) {
	color := &kubeconnectv1.WatchRequest{Fields: []string{"data.color"}, LabelSelector: "app=web"}
	everyStep := Evidence{Writes: painted(), EveryStep: true}
	latest := Evidence{Writes: painted()}
	view := selection(t, color).View
	event := func(eventType kubeconnectv1.EventType, version, state string) *kubeconnectv1.Event {
		return inView(view, eventType, version, state)
	}
	right := func() []*kubeconnectv1.Event {
		return []*kubeconnectv1.Event{
			reset(), event(added, "2", "2"), synced("3"), bookmark("5"), event(modified, "6", "6"), bookmark("7"),
			event(deleted, "8", "6"), event(added, "10", "10"), bookmark("11"), event(modified, "12", "12"), bookmark("13"),
		}
	}
	for name, test := range map[string]struct {
		change   func([]*kubeconnectv1.Event) []*kubeconnectv1.Event
		evidence Evidence
		rule     string // empty for no violation
		index    int
	}{
		"all visible changes": {evidence: everyStep},
		"a snapshot between changes": {
			change: func([]*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return []*kubeconnectv1.Event{reset(), event(added, "4", "4"), synced("5"), event(modified, "6", "6")}
			},
			evidence: everyStep,
		},
		"only latest states, one of them unchanged": {
			change: func([]*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return []*kubeconnectv1.Event{reset(), event(added, "6", "6"), synced("6"), bookmark("10")}
			},
			evidence: latest,
		},
		"an invisible change": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return append(events[:3:3], event(modified, "4", "4"))
			},
			evidence: everyStep, rule: changeIsVisible.name, index: 3,
		},
		"a visible change is missing": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return append(events[:4:4], bookmark("7"))
			},
			evidence: latest, rule: hasObjectsOfCluster.name, index: 4,
		},
		"leaving the selection is missing, with the same view afterwards": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return append(events[:5:5], bookmark("9"))
			},
			evidence: latest, rule: hasObjectsOfCluster.name, index: 5,
		},
		"a visible step before the next is missing": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				return append(events[:4:4], event(deleted, "8", "6"))
			},
			evidence: everyStep, rule: everyStepIsSent.name, index: 4,
		},
		"more than was requested": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				events[1] = inView(View{}, added, "2", "2")
				return events
			},
			evidence: everyStep, rule: contentIsAsWritten.name, index: 1,
		},
		"less than was requested": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				events[4] = withJSON(events[4], "{}")
				return events
			},
			evidence: everyStep, rule: contentIsAsWritten.name, index: 4,
		},
		"another version with the same view": {
			change: func(events []*kubeconnectv1.Event) []*kubeconnectv1.Event {
				events[4] = at("7", events[4])
				events[4].Object.ResourceVersion = "7"
				return events
			},
			evidence: everyStep, rule: isAsWritten.name, index: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := right()
			if test.change != nil {
				events = test.change(events)
			}
			recording := asSent(events...)
			recording.Selection = selection(t, color)
			wantFirst(t, recording.Violations(test.evidence), test.rule, test.index)
		})
	}
}

// asSent is oneByOne for events that already have their content.
func asSent(events ...*kubeconnectv1.Event) *Recording {
	contents := make([]*kubeconnectv1.Object, len(events))
	for i, event := range events {
		contents[i] = &kubeconnectv1.Object{Content: event.GetObject().GetContent()}
	}
	recording := oneByOne(events...)
	for i, event := range events {
		if event.GetObject() != nil {
			event.Object.Content = contents[i].Content
		}
	}
	return recording
}

func wantFirst(t *testing.T, violations []Violation, rule string, index int) {
	t.Helper()
	switch {
	case rule == "" && len(violations) > 0:
		t.Error(violations[0])
	case rule != "" && (len(violations) == 0 || violations[0].Rule != rule || violations[0].Index != index):
		t.Errorf("first violation, want %q at event %d: %s", rule, index, fmt.Sprint(violations))
	}
}

func TestFilters_AreValidated(t *testing.T) {
	request := &kubeconnectv1.WatchRequest{Filter: `object.data.number.endsWith("0") || object.data.color == "blue"`}
	event := func(eventType kubeconnectv1.EventType, version, state string) *kubeconnectv1.Event {
		return inView(View{}, eventType, version, state)
	}
	for name, test := range map[string]struct {
		events []*kubeconnectv1.Event
		rule   string
		index  int
	}{
		"entering, staying and leaving": {events: []*kubeconnectv1.Event{
			reset(), synced("5"), event(added, "6", "6"), event(modified, "8", "8"), event(modified, "10", "10"), event(deleted, "12", "10"), bookmark("13"),
		}},
		"an object that does not match": {
			events: []*kubeconnectv1.Event{reset(), event(added, "4", "4"), synced("5")}, rule: isAsWritten.name, index: 1,
		},
		"a matching object is not sent": {
			events: []*kubeconnectv1.Event{reset(), synced("7")}, rule: hasObjectsOfCluster.name, index: 1,
		},
		"leaving is not sent": {
			events: []*kubeconnectv1.Event{reset(), event(added, "10", "10"), synced("10"), bookmark("13")}, rule: hasObjectsOfCluster.name, index: 3,
		},
		"a step is missing": {
			events: []*kubeconnectv1.Event{reset(), event(added, "6", "6"), synced("6"), event(modified, "10", "10")}, rule: everyStepIsSent.name, index: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			recording := asSent(test.events...)
			recording.Selection = selection(t, request)
			wantFirst(t, recording.Violations(Evidence{Writes: painted(), EveryStep: true}), test.rule, test.index)
		})
	}
}
