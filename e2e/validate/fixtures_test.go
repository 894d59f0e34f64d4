package validate

import (
	"slices"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/labels"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// began is the begin of the recordings of these tests.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// web selects the objects with the label that written sets.
var web = Selection{Labels: labels.SelectorFromSet(labels.Set{"app": "web"})}

// history returns the writes to the objects a, b and c, of which a was recreated.
func history() *Writes {
	writes := NewWrites("ns")
	writes.Add(written("a", "2"), written("a", "6"), deletedBy("a", "9"), as("second", written("a", "12")))
	writes.Add(written("b", "4"), without(written("b", "7")), written("b", "13"))
	writes.Add(without(written("c", "5")), without(written("c", "8")))
	return writes
}

// correctRecording returns a recording of that history with the selection web, without a fault.
func correctRecording() *Recording {
	return &Recording{Selection: web, Calls: []Call{{
		Began: began,
		Ended: began.Add(time.Minute),
		Err:   connect.NewError(connect.CodeCanceled, "cancelled by the test"),
		Responses: []Response{
			begins(after(0, "token at 5", reset(), full(object(added, "a", "2")), full(object(added, "b", "4")), synced("5"))),
			after(1, "token at 6", full(object(modified, "a", "6"))),
			after(2, "token at 9", full(newDeleted("b", "4", "7")), full(newDeleted("a", "6", "9"))),
			fresh(after(12, "token at 10", bookmark("10"))),
			after(13, "token at 13", full(withUID(object(added, "a", "12"), "second")), full(object(added, "b", "13"))),
			fresh(after(23, "token at 13", bookmark("13"))),
			fresh(after(33, "token at 13", bookmark("13"))),
			fresh(after(43, "token at 13", bookmark("13"))),
			fresh(after(53, "token at 13", bookmark("13"))),
		},
	}}}
}

// resumed is correctRecording with a second call that resumes from the first response and receives
// latest states instead of steps.
func resumed() *Recording {
	recording := correctRecording()
	first := &recording.Calls[0]
	first.Ended, first.Responses = began.Add(time.Second), first.Responses[:1]
	recording.Calls = append(recording.Calls, Call{Token: "token at 5", Began: began.Add(2 * time.Second), Responses: []Response{
		after(12, "token at 13", newDeleted("c", "8", "8"), newDeleted("a", "9", "9"), newDeleted("never-seen", "10", "10"),
			full(withUID(object(modified, "a", "12"), "second")), full(object(modified, "b", "13"))),
		fresh(after(22, "token at 13", bookmark("13"))),
	}})
	return recording
}

// deletedAgain is correctRecording up to the deletions; the second deletion is sent again after a
// resume.
func deletedAgain() *Recording {
	recording := correctRecording()
	first := &recording.Calls[0]
	first.Ended, first.Responses = began.Add(time.Second), first.Responses[:3]
	recording.Calls = append(recording.Calls, Call{Token: "token at 9", Began: began.Add(3 * time.Second), Responses: []Response{
		after(4, "token at 9", full(newDeleted("a", "6", "9"))),
		fresh(after(12, "token at 10", bookmark("10"))),
	}})
	recording.CatchUp = Nowhere
	return recording
}

// wentBack is correctRecording up to the deletions, and then again from the change before them.
func wentBack() *Recording {
	recording := correctRecording()
	second := recording.Calls[0]
	recording.Calls[0].Responses = second.Responses[:4]
	recording.Calls[0].Ended = began.Add(13 * time.Second)
	second.Token, second.From, second.Responses = "token at 6", &Place{0, 1}, second.Responses[2:]
	recording.Calls = append(recording.Calls, second)
	recording.CatchUp = Nowhere
	return recording
}

// ackedAt is history, with the write of version 12 acknowledged at a second.
func ackedAt(second int) *Writes {
	writes := history()
	for i := range writes.byKey[Key{"ns", "a"}] {
		if write := &writes.byKey[Key{"ns", "a"}][i]; write.Version == "12" {
			write.Acked = began.Add(time.Duration(second) * time.Second)
		}
	}
	return writes
}

// goneAt is history, with the deletion of a known at a second.
func goneAt(second int) *Writes {
	writes := history()
	writes.byKey[Key{"ns", "a"}][2].Acked = began.Add(time.Duration(second) * time.Second)
	return writes
}

// deletedAfterABookmark is history, with an object that was created before the bookmark at 13 and
// deleted after it.
func deletedAfterABookmark() *Writes {
	writes, deletion := history(), deletedBy("d", "14")
	deletion.Exact = true
	writes.Add(written("d", "8"), deletion)
	return writes
}

// all returns the complete evidence about correctRecording.
func all() Evidence {
	return Evidence{Writes: history(), EveryStep: true, Silence: 10 * time.Second}
}

func inNamespace(namespace string, event *kubeconnectv1.Event) *kubeconnectv1.Event {
	event.Object.Namespace = namespace
	return event
}

func written(name, version string) Write {
	return Write{Key: Key{"ns", name}, UID: "first", Labels: labels.Set{"app": "web"}, Version: version}
}

// historyWithContent is history, with a content of a.
func historyWithContent() *Writes {
	writes := NewWrites("ns")
	write := written("a", "2")
	write.Content = map[string]any{"data": map[string]any{"key": "value"}}
	writes.Add(write)
	return writes
}

func without(w Write) Write {
	w.Labels = nil
	return w
}

func as(uid string, w Write) Write {
	w.UID = uid
	return w
}

func deletedBy(name, version string) Write {
	return Write{Key: Key{"ns", name}, UID: "first", Deleted: true, Version: version}
}

// full sets the object's content.
func full(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	event.Object.Content = &kubeconnectv1.Object_Json{Json: []byte("{}")}
	return event
}

// after returns a response received a number of seconds after began.
func after(seconds int, token string, events ...*kubeconnectv1.Event) Response {
	return Response{At: began.Add(time.Duration(seconds) * time.Second), Token: token, Events: events}
}

func begins(response Response) Response {
	response.Kind = &kubeconnectv1.Resource{Kind: "ConfigMap"}
	if response.has(kubeconnectv1.EventType_EVENT_TYPE_SYNCED) {
		return fresh(response)
	}
	return response
}

// fresh sets the last contact to a second before the response.
func fresh(response Response) Response {
	response.Freshness = &kubeconnectv1.Freshness{LastContactTime: timestamppb.New(response.At.Add(-time.Second))}
	return response
}

// lose makes the responses of the first call, from index from and up to second until, report that
// the upstream has been unreachable since the sixteenth second.
func lose(r *Recording, from, until int) {
	for i := range r.Calls[0].Responses[from:] {
		response := &r.Calls[0].Responses[from+i]
		if response.At.Sub(began) < time.Duration(until)*time.Second {
			response.Freshness = &kubeconnectv1.Freshness{Stale: true, LastContactTime: timestamppb.New(began.Add(16 * time.Second))}
		}
	}
}

func outage(from, to int) []Outage {
	return []Outage{{
		From: began.Add(time.Duration(from) * time.Second), To: began.Add(time.Duration(to) * time.Second), Unnoticed: 5 * time.Second,
	}}
}

func change(r *Recording, edit func(*Recording)) *Recording {
	edit(r)
	return r
}

// remove removes an event from a response.
func remove(from *Call, response, event int) {
	from.Responses[response].Events = slices.Delete(from.Responses[response].Events, event, event+1)
}

func leaveOutOneStep(r *Recording) {
	r.Calls[0].Responses = slices.Delete(r.Calls[0].Responses, 1, 2)
	r.Calls[0].Responses[1].Events[1] = full(newDeleted("a", "2", "9"))
}

func snapshotInstead(r *Recording) {
	r.Calls[1].Responses[0] = begins(after(12, "token at 13", reset(),
		full(object(added, "b", "13")), full(withUID(object(added, "a", "12"), "second")), synced("13")))
}

func beginAnew(r *Recording) {
	snapshotInstead(r)
	r.Calls[1].Token = ""
}

// endWithoutRoom makes a response end without a token because the next response's first event does
// not fit.
func endWithoutRoom(r *Recording) {
	responses := r.Calls[0].Responses
	responses[1].Token = ""
	responses[2].Events[0].Object.Content = &kubeconnectv1.Object_Json{Json: make([]byte, fullResponse)}
}

// split sends each event of the resumed call in a response of its own, as if it were too large for
// one response.
func split(r *Recording) *Recording {
	call := &r.Calls[1]
	var responses []Response
	for _, event := range call.Responses[0].Events {
		if event.GetObject().GetContent() == nil {
			large := protowire.AppendBytes(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.BytesType), make([]byte, fullResponse))
			event.Object.ProtoReflect().SetUnknown(large)
			continue
		}
		event.Object.Content = &kubeconnectv1.Object_Json{Json: make([]byte, fullResponse)}
		responses = append(responses, after(12, "token", event))
	}
	call.Responses[0].Events = call.Responses[0].Events[:2]
	call.Responses = slices.Insert(call.Responses, 1, responses...)
	return r
}

// waitFirst inserts a response at the beginning of a call which reports that the call waits for a
// first snapshot.
func waitFirst(call *Call, response Response) {
	response.At, response.Events = began, []*kubeconnectv1.Event{{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK}}
	call.Responses = append([]Response{response}, call.Responses...)
}
