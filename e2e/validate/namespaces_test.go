package validate

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// inOther returns an event about an object of another namespace.
func inOther(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	return inNamespace("other", full(event))
}

// ofTwoNamespaces is correctRecording in one namespace, with events of another one among its events. SYNCED and the bookmarks
// have the version of the namespace that is behind. In the snapshot, the namespace of correctRecording was at version 5 already.
func ofTwoNamespaces() *Recording {
	recording := correctRecording()
	responses := recording.Calls[0].Responses
	responses[0].Events = append(responses[0].Events[:3], inOther(object(added, "a", "1")), synced("3"))
	responses[1].Events = append(responses[1].Events, inOther(object(modified, "a", "4")))
	responses[3].Events = []*kubeconnectv1.Event{bookmark("4")}
	responses[4].Events = append([]*kubeconnectv1.Event{inOther(object(modified, "a", "11"))}, responses[4].Events...)
	return recording
}

// historyOfTwo is the history of both namespaces.
func historyOfTwo() *Writes {
	writes := history()
	writes.known["other"] = true
	for _, version := range []string{"1", "4", "11"} {
		write := written("a", version)
		write.Key.Namespace = "other"
		writes.Add(write)
	}
	return writes
}

func TestRecording_InNamespaceIsJudgedByItself(t *testing.T) {
	for name, test := range map[string]struct {
		recording *Recording
		want      []string // the rules that are violated in each of the namespaces
		other     []string
	}{
		"correct":                       {recording: ofTwoNamespaces()},
		"a change is lost":              {recording: change(ofTwoNamespaces(), leaveOutOneStep), want: []string{everyStepIsSent.name}, other: []string{hasObjectsOfCluster.name, everyStepIsSent.name}},
		"a change of the other is lost": {recording: change(ofTwoNamespaces(), func(r *Recording) { remove(&r.Calls[0], 1, 1) }), other: []string{hasObjectsOfCluster.name, everyStepIsSent.name}},
		"an object of the snapshot is lost": {
			recording: change(ofTwoNamespaces(), func(r *Recording) { remove(&r.Calls[0], 0, 2) }), want: []string{hasObjectsOfCluster.name, changedIsHeld.name, everyStepIsSent.name},
		},
		"a change is sent twice": {
			recording: change(ofTwoNamespaces(), func(r *Recording) {
				r.Calls[0].Responses[1].Events = append(r.Calls[0].Responses[1].Events, full(object(modified, "a", "6")))
			}),
			want: []string{deliveredOnce.name, deliveredOnceBetweenResets.name, everyStepIsSent.name},
		},
		"a bookmark is too new": {
			recording: change(ofTwoNamespaces(), func(r *Recording) { r.Calls[0].Responses[3].Events[0].ResourceVersion = "11" }),
			other:     []string{hasObjectsOfCluster.name, bookmarkCloses.name},
		},
	} {
		t.Run(name, func(t *testing.T) {
			evidence := all()
			evidence.Writes = historyOfTwo()
			for namespace, want := range map[string][]string{"ns": test.want, "other": test.other} {
				in := evidence.In(namespace)
				wantRules(t, namespace, test.recording.In(namespace, in).Violations(in), want)
			}
		})
	}
}

// TestRecording_InNamespaceKnowsTheVersionOfASnapshot is about a snapshot whose SYNCED has the version of another namespace,
// which is older than a deletion in this one.
func TestRecording_InNamespaceKnowsTheVersionOfASnapshot(t *testing.T) {
	writes := NewWrites("ns")
	deletion := deletedBy("a", "9")
	deletion.Exact = true
	writes.Add(written("a", "2"), deletion)
	writes.Add(written("b", "4"))
	recording := &Recording{Selection: web, Calls: []Call{{Began: began, Responses: []Response{
		begins(after(0, "token", reset(), full(object(added, "b", "4")), synced("3"))),
	}}}}
	evidence := Evidence{Writes: writes}.In("ns")
	if violations := recording.In("ns", evidence).Violations(evidence); len(violations) > 0 {
		t.Error(violations)
	}
	remove(&recording.Calls[0], 0, 1)
	wantRules(t, "ns", recording.In("ns", evidence).Violations(evidence), []string{hasObjectsOfCluster.name})
}

// TestRecording_InNamespaceDoesNotGuessTheVersionOfADeletion is about a deletion that was noticed late: other objects were created
// before that, which the snapshot cannot have.
func TestRecording_InNamespaceDoesNotGuessTheVersionOfADeletion(t *testing.T) {
	writes := NewWrites("ns")
	writes.Add(written("a", "2"), written("a", "4"), deletedBy("a", "9"))
	writes.Add(written("b", "3"), written("b", "7"))
	writes.Add(written("c", "6"))
	recording := &Recording{Selection: web, Calls: []Call{{Began: began, Responses: []Response{
		begins(after(0, "token", reset(), full(object(added, "b", "3")), synced("3"))),
		after(0, "token", full(object(added, "c", "6"))),
	}}}}
	evidence := Evidence{Writes: writes}.In("ns")
	if violations := recording.In("ns", evidence).Violations(evidence); len(violations) > 0 {
		t.Error(violations)
	}
}

func wantRules(t *testing.T, namespace string, violations []Violation, want []string) {
	t.Helper()
	var got []string
	for _, violation := range violations {
		got = append(got, violation.Rule)
	}
	if !slices.Equal(got, want) {
		t.Errorf("in %s: violated %q, want %q", namespace, got, want)
	}
}
