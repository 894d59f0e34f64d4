package validate

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// narrow returns a correct recording whose selection is only the object b.
func narrow() *Recording {
	recording := correctRecording()
	recording.Name, recording.Selection = "narrow", Selection{Name: "b"}
	for i, response := range recording.Calls[0].Responses {
		var kept []*kubeconnectv1.Event
		for _, event := range response.Events {
			if name := event.GetObject().GetName(); name == "" || name == "b" {
				kept = append(kept, event)
			}
		}
		recording.Calls[0].Responses[i].Events = kept
	}
	return recording
}

// losing removes an object from the responses of a recording after the first one.
func losing(recording *Recording, name string) *Recording {
	for i := range recording.Calls[0].Responses[1:] {
		response := &recording.Calls[0].Responses[i+1]
		var kept []*kubeconnectv1.Event
		for _, event := range response.Events {
			if event.GetObject().GetName() != name || event.GetType() == deleted {
				kept = append(kept, event)
			}
		}
		response.Events = kept
	}
	return recording
}

func TestTogether_JudgesStreamsOfSeveralCallers(t *testing.T) {
	for name, test := range map[string]struct {
		streams []Stream
		want    int
	}{
		"two questions":          {streams: []Stream{{Recording: correctRecording()}, {Recording: narrow()}}},
		"one misses an object":   {streams: []Stream{{Recording: correctRecording()}, {Recording: losing(narrow(), "b")}}, want: 1},
		"two of three miss it":   {streams: []Stream{{Recording: losing(correctRecording(), "b")}, {Recording: narrow()}, {Recording: losing(narrow(), "b")}}, want: 2},
		"it has no permission":   {streams: []Stream{{Recording: correctRecording()}, {Recording: losing(narrow(), "b"), Rights: Rights{}}}},
		"it does not select it":  {streams: []Stream{{Recording: correctRecording()}, {Recording: &Recording{Selection: Selection{Related: Among()}, Calls: correctRecording().Calls[:1]}}}, want: 0},
		"it has not come so far": {streams: []Stream{{Recording: correctRecording()}, {Recording: change(narrow(), func(r *Recording) { r.Calls[0].Responses = r.Calls[0].Responses[:4] })}}},
		"it has gone further, and a bookmark is older": {streams: []Stream{
			{Recording: change(correctRecording(), func(r *Recording) { r.Calls[0].Responses = r.Calls[0].Responses[:2] })},
			{Recording: change(correctRecording(), func(r *Recording) {
				r.Calls[0].Responses = append(r.Calls[0].Responses[:3], after(12, "token at 8", bookmark("8")))
			})},
		}},
		"another content": {streams: []Stream{{Recording: correctRecording()}, {Recording: change(correctRecording(), func(r *Recording) {
			r.Calls[0].Responses[1].Events[0].Object.Content = &kubeconnectv1.Object_Json{Json: []byte(`{"other":1}`)}
		})}}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			writes := history()
			writes.byKey[Key{"ns", "a"}][2].Exact = true // the deletion at version 9
			violations := Together(test.streams, writes)
			if len(violations) != test.want {
				t.Errorf("%d violations, want %d: %v", len(violations), test.want, violations)
			}
		})
	}
}

func TestSelection_Relations(t *testing.T) {
	owned := Write{Key: Key{"ns", "a"}, UID: "1", Labels: map[string]string{"app": "web"}, Content: map[string]any{
		"metadata": map[string]any{"ownerReferences": []any{map[string]any{"uid": "0"}}},
	}}
	for name, test := range map[string]struct {
		related func(Write) bool
		want    bool
	}{
		"owned":                {OwnedBy("ns", "0"), true},
		"owned by another":     {OwnedBy("ns", "1"), false},
		"in another namespace": {OwnedBy("other", "0"), false},
		"among":                {Among("2", "1"), true},
		"among others":         {Among("2"), false},
		"among none":           {Among(), false},
		"selected":             {SelectedBy("ns", map[string]string{"app": "web"}), true},
		"not selected":         {SelectedBy("ns", map[string]string{"app": "db"}), false},
		"any":                  {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Selection{Related: test.related}).holds(owned); got != test.want {
				t.Errorf("holds is %t, want %t", got, test.want)
			}
		})
	}
}
