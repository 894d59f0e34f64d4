package validate

import (
	"errors"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
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
		Err:   connect.NewError(connect.CodeCanceled, errors.New("cancelled by the test")),
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

// all returns the complete evidence about correctRecording.
func all() Evidence {
	return Evidence{Writes: history(), EveryStep: true, Silence: 10 * time.Second}
}

func TestRecording_CorrectOnesHaveNoViolations(t *testing.T) {
	for name, test := range map[string]struct {
		recording *Recording
		evidence  Evidence
	}{
		"no calls":                                 {&Recording{}, all()},
		"every step":                               {correctRecording(), all()},
		"every step, without evidence":             {correctRecording(), Evidence{}},
		"latest states after a resume":             {resumed(), all()},
		"latest states in several responses":       {split(resumed()), all()},
		"steps omitted because of an outage":       {change(correctRecording(), leaveOutOneStep), Evidence{Writes: history()}},
		"a step in two parts, after an outage":     {change(correctRecording(), func(r *Recording) { r.Calls[0].Responses[1].Token = "" }), Evidence{Writes: history()}},
		"a snapshot instead, in the resumed call":  {change(resumed(), snapshotInstead), all()},
		"a call without a token after another one": {change(resumed(), beginAnew), all()},
		"a long silence of a stalled client": {change(correctRecording(), func(r *Recording) {
			r.Stalled = true
			r.Calls[0].Responses = r.Calls[0].Responses[:3]
		}), all()},
		"the service is unavailable": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Err = connect.NewWireError(connect.CodeUnavailable, errors.New("call again"))
		}), all()},
		"the connection broke": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Err = connect.NewError(connect.CodeInternal, errors.New("unexpected EOF"))
		}), all()},
		"a full response without a token": {change(correctRecording(), endWithoutRoom), all()},
		"a late deletion, whose version is unknown": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[1].ResourceVersion = "8"
		}), all()},
		"a deletion that is sent again after a resume":  {deletedAgain(), all()},
		"a client that goes back to an earlier message": {wentBack(), all()},
		"writes acknowledged before the last contact":   {correctRecording(), Evidence{Writes: ackedAt(13), Delivery: 2 * time.Second}},
		"writes in transit at the last contact":         {correctRecording(), Evidence{Writes: ackedAt(10), Delivery: 2 * time.Second}},
		"stale, and older than the last contact": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Responses[3].Freshness.Stale = true
		}), Evidence{Writes: ackedAt(9), Delivery: 2 * time.Second}},
		"an outage that is reported, and its end": {change(correctRecording(), func(r *Recording) {
			lose(r, 5, 30)
		}), Evidence{Outages: outage(16, 32)}},
		"a service that has just started and has to catch up": {change(correctRecording(), func(r *Recording) {
			lose(r, 5, 60)
		}), Evidence{Outages: outage(16, 32), Began: second(58)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range test.recording.Violations(test.evidence) {
				t.Error(violation)
			}
		})
	}
}

// Each of these is a correct recording with one fault.
func TestRecording_FaultsAreFoundWithGuaranteeAndEvent(t *testing.T) {
	for name, test := range map[string]struct {
		recording *Recording
		fault     func(*Recording)
		evidence  Evidence
		guarantee Guarantee
		index     int
	}{
		"an older state of an object": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[1].Events[0] = full(object(modified, "a", "1")) }, Evidence{}, Ordered, 4,
		},
		"events out of order": {
			correctRecording(), func(r *Recording) { slices.Reverse(r.Calls[0].Responses[2].Events) }, Evidence{}, Ordered, 6,
		},
		"an event that is older than the token": {
			resumed(), func(r *Recording) { r.Calls[1].Responses[0].Events[0] = newDeleted("c", "4", "4") }, Evidence{}, Ordered, 4,
		},
		"a change that is sent again after a resume": {
			resumed(), func(r *Recording) {
				r.Calls[0].Responses = append(r.Calls[0].Responses, after(1, "token at 6", full(object(modified, "a", "6"))))
				r.Calls[1].Responses[0].Events = []*kubeconnectv1.Event{full(object(modified, "a", "6"))}
			}, Evidence{}, Unique, 5,
		},
		"a deletion that is sent a third time": {
			deletedAgain(), func(r *Recording) {
				r.CatchUp = AfterResume
				r.Calls[1].Responses[0].Events = append(r.Calls[1].Responses[0].Events, full(newDeleted("a", "6", "9")))
			}, Evidence{}, Unique, 8,
		},
		"a deletion that is sent again although the token closes its version": {
			deletedAgain(), func(r *Recording) {
				r.CatchUp = AfterResume
				last := &r.Calls[0].Responses[len(r.Calls[0].Responses)-1]
				last.Events = append(last.Events, bookmark("9"))
				*last = fresh(*last)
			}, Evidence{}, Unique, 8,
		},
		"a deletion that is sent again in the same call": {
			deletedAgain(), func(r *Recording) {
				last := &r.Calls[0].Responses[len(r.Calls[0].Responses)-1]
				last.Events = append(last.Events, full(newDeleted("a", "6", "9")))
			}, Evidence{}, Complete, 7,
		},
		"an object older than the bookmark that a token closes": {
			deletedAgain(), func(r *Recording) {
				last := &r.Calls[0].Responses[len(r.Calls[0].Responses)-1]
				last.Events = append(last.Events, bookmark("11"))
				*last = fresh(*last)
				r.Calls[1].Responses[0].Events = []*kubeconnectv1.Event{full(withUID(object(added, "d", "10"), "another"))}
			}, Evidence{}, Ordered, 8,
		},
		"an earlier message that the client did not go back to": {
			wentBack(), func(r *Recording) { r.Calls[1].From = nil }, Evidence{}, Complete, 8,
		},
		"another state than the client had when it went back": {
			wentBack(), func(r *Recording) { r.Calls[1].From = &Place{0, 0} }, all(), Complete, 9,
		},
		"a write before the last contact that was not sent": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3].Freshness.LastContact = timestamppb.New(began.Add(12 * time.Second))
			}, Evidence{Writes: ackedAt(9), Delivery: 2 * time.Second}, Fresh, 7,
		},
		"a deletion before the last contact that was not sent": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3] = fresh(after(12, "token at 8", bookmark("8")))
				remove(&r.Calls[0], 2, 1)
			}, Evidence{Writes: goneAt(8), Delivery: 2 * time.Second}, Fresh, 6,
		},
		"an object that is sent twice in a snapshot": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[0].Events[2] = full(object(added, "a", "2")) }, Evidence{}, Unique, 2,
		},
		"an object that is missing from the snapshot": {
			correctRecording(), func(r *Recording) { remove(&r.Calls[0], 0, 1) }, all(), Complete, 2,
		},
		"an object that does not match": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[0].Events[1] = full(object(added, "c", "5"))
			}, all(), Complete, 1,
		},
		"an object that was never written": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[1].Events[0] = full(object(modified, "a", "8")) }, all(), Complete, 4,
		},
		"a missing change": {
			correctRecording(), func(r *Recording) { remove(&r.Calls[0], 4, 1) }, Evidence{Writes: history()}, Complete, 9,
		},
		"a missing deletion": {
			correctRecording(), func(r *Recording) { remove(&r.Calls[0], 2, 1) }, Evidence{Writes: history()}, Complete, 6,
		},
		"a missing DELETED on leaving the selection": {
			correctRecording(), func(r *Recording) { remove(&r.Calls[0], 2, 0) }, Evidence{Writes: history()}, Complete, 6,
		},
		"a deletion that did not happen": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[1].Events = append(r.Calls[0].Responses[1].Events, full(newDeleted("b", "4", "6")))
			}, all(), Complete, 5,
		},
		"content that was never written": {
			correctRecording(), func(*Recording) {}, Evidence{Writes: historyWithContent()}, Complete, 1,
		},
		"a patch that cannot be applied": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[1].Events[0].PatchFormat = merge }, Evidence{}, Complete, 4,
		},
		"a missing step": {
			correctRecording(), leaveOutOneStep, all(), Complete, 5,
		},
		"a missing DELETED on leaving the selection, in a resume": {
			resumed(), func(r *Recording) { remove(&r.Calls[1], 0, 4) }, Evidence{Writes: history()}, Complete, 8,
		},
		"MODIFIED of a missing object, after the latest states": {
			resumed(), func(r *Recording) {
				r.Calls[1].Responses = append(r.Calls[1].Responses, after(23, "token at 14", full(object(modified, "d", "14"))))
			}, Evidence{}, Complete, 10,
		},
		"DELETED without content, at the client's last version": {
			resumed(), func(r *Recording) { r.Calls[1].Responses[0].Events[1] = newDeleted("a", "6", "9") }, Evidence{}, Complete, 5,
		},
		"latest states where every step is in the window": {
			resumed(), func(r *Recording) { r.CatchUp = Nowhere }, Evidence{}, Complete, 4,
		},
		"DELETED without content, without latest states": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[2].Events[0] = newDeleted("b", "4", "7") }, Evidence{}, Complete, 5,
		},
		"ADDED without content": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[4].Events[1] = object(added, "b", "13") }, Evidence{}, Complete, 9,
		},
		"a recreated object without a deletion": {
			resumed(), func(r *Recording) { remove(&r.Calls[1], 0, 1) }, Evidence{}, Complete, 6,
		},
		"RESET after another event": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3] = begins(after(12, "token at 10", bookmark("10"), reset(), synced("11")))
			}, Evidence{}, Complete, 8,
		},
		"RESET without the kind": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[0].Kind = nil }, Evidence{}, Complete, 3,
		},
		"a response without a token": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[1].Token = "" }, all(), Resumable, 4,
		},
		"a bookmark without a token, where there may have been an outage": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[3].Token = "" }, Evidence{}, Resumable, 7,
		},
		"a token within a snapshot": {
			correctRecording(), func(r *Recording) { remove(&r.Calls[0], 0, 3) }, Evidence{}, Resumable, 2,
		},
		"a rejected token": {
			resumed(), func(r *Recording) {
				r.Calls[1] = Call{Token: "token at 5", Ended: began, Err: connect.NewWireError(connect.CodeOutOfRange, errors.New("expired"))}
			}, Evidence{}, Resumable, 3,
		},
		"an end without an error": {
			correctRecording(), func(r *Recording) { r.Calls[0].Err = nil }, Evidence{}, Resumable, 13,
		},
		"a long silence": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[6].At = began.Add(34 * time.Second) }, all(), Bookmarked, 11,
		},
		"a long silence of a client that may receive latest states anywhere": {
			correctRecording(), func(r *Recording) {
				r.CatchUp = Anywhere
				r.Calls[0].Responses[6].At = began.Add(34 * time.Second)
			}, Evidence{Silence: 10 * time.Second}, Bookmarked, 11,
		},
		"a long silence at the end": {
			correctRecording(), func(r *Recording) { r.Calls[0].Ended = began.Add(64 * time.Second) }, all(), Bookmarked, 13,
		},
		"BOOKMARK without freshness": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[3].Freshness = nil }, Evidence{}, Fresh, 7,
		},
		"a wait for a first snapshot that is reported as fresh": {
			resumed(), func(r *Recording) { waitFirst(&r.Calls[1], Response{Token: "token at 5"}) }, Evidence{}, Fresh, 4,
		},
		"a wait for a first snapshot with another token": {
			resumed(), func(r *Recording) {
				waitFirst(&r.Calls[1], Response{Freshness: &kubeconnectv1.Freshness{Stale: true}})
			}, Evidence{}, Resumable, 4,
		},
		"SYNCED without freshness": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[0].Freshness = nil }, Evidence{}, Fresh, 3,
		},
		"BOOKMARK without a last contact": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[3].Freshness.LastContact = nil }, Evidence{}, Fresh, 7,
		},
		"a last contact in the future": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3].Freshness.LastContact = timestamppb.New(began.Add(13 * time.Second))
			}, Evidence{}, Fresh, 7,
		},
		"an older last contact": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[5].Freshness.LastContact = timestamppb.New(began) }, Evidence{}, Fresh, 10,
		},
		"an outage that is not reported": {
			correctRecording(), func(*Recording) {}, Evidence{Outages: outage(16, 32)}, Fresh, 10,
		},
		"an outage that is reported with an impossible contact": {
			correctRecording(), func(r *Recording) {
				lose(r, 5, 30)
				r.Calls[0].Responses[5].Freshness.LastContact = timestamppb.New(began.Add(22 * time.Second))
			},
			Evidence{Outages: outage(16, 32)}, Fresh, 10,
		},
		"an end of an outage that is not reported": {
			correctRecording(), func(r *Recording) { lose(r, 5, 60) }, Evidence{Outages: outage(16, 32)}, Fresh, 12,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.recording.Name = "the recording"
			violations := change(test.recording, test.fault).Violations(test.evidence)
			if len(violations) == 0 {
				t.Fatal("no violation found")
			}
			first := violations[0]
			if first.Guarantee != test.guarantee || first.Index != test.index || first.Stream != "the recording" {
				t.Errorf("first violation, want %s at event %d: %v", test.guarantee, test.index, first)
			}
		})
	}
}

func TestMemory_GrowthIsFound(t *testing.T) {
	samples := []Sample{{began, 50 << 20}, {began.Add(time.Second), 90 << 20}, {began.Add(2 * time.Second), 151 << 20}}
	for _, violation := range Memory("stalled clients", samples[:2], 100<<20) {
		t.Error(violation)
	}
	for _, violation := range Memory("stalled clients", nil, 100<<20) {
		t.Error(violation)
	}
	violations := Memory("stalled clients", samples, 100<<20)
	if len(violations) != 1 || violations[0].Guarantee != Bounded || violations[0].Index != 2 {
		t.Errorf("violations %v", violations)
	}
}

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

func inNamespace(namespace string, event *kubeconnectv1.Event) *kubeconnectv1.Event {
	event.Object.Namespace = namespace
	return event
}

func TestSelection_IsParsedFromRequests(t *testing.T) {
	selection, err := SelectionOf(&kubeconnectv1.WatchRequest{
		Namespace: "ns", LabelSelector: "app in (web,api),!canary", FieldSelector: "spec.color=red,metadata.name!=b",
	})
	if err != nil {
		t.Fatal(err)
	}
	red := written("a", "1")
	red.Fields = map[string]string{"spec.color": "red"}
	if !selection.holds(red) {
		t.Error("the selection does not match its object")
	}
	for name, write := range map[string]Write{
		"another namespace": {Key: Key{"other", "a"}, Labels: red.Labels, Fields: red.Fields},
		"another name":      {Key: Key{"ns", "b"}, Labels: red.Labels, Fields: red.Fields},
		"another field":     {Key: Key{"ns", "a"}, Labels: red.Labels},
		"another label":     {Key: Key{"ns", "a"}, Labels: labels.Set{"app": "web", "canary": ""}, Fields: red.Fields},
		"deleted":           {Key: Key{"ns", "a"}, Labels: red.Labels, Fields: red.Fields, Deleted: true},
	} {
		if selection.holds(write) {
			t.Errorf("the selection matches %s", name)
		}
	}
	for _, wrong := range []*kubeconnectv1.WatchRequest{{LabelSelector: "=="}, {FieldSelector: "a"}} {
		if _, err := SelectionOf(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
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
	response.Freshness = &kubeconnectv1.Freshness{LastContact: timestamppb.New(response.At.Add(-time.Second))}
	return response
}

// lose makes the responses of the first call, from index from and up to second until, report that
// the upstream has been unreachable since the sixteenth second.
func lose(r *Recording, from, until int) {
	for i := range r.Calls[0].Responses[from:] {
		response := &r.Calls[0].Responses[from+i]
		if response.At.Sub(began) < time.Duration(until)*time.Second {
			response.Freshness = &kubeconnectv1.Freshness{Stale: true, LastContact: timestamppb.New(began.Add(16 * time.Second))}
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
			event.Object.Uid += string(make([]byte, fullResponse))
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

func TestRecording_CallsCanBeginWithAWaitForASnapshot(t *testing.T) {
	recording := resumed()
	waitFirst(&recording.Calls[1], Response{Token: recording.Calls[1].Token, Freshness: &kubeconnectv1.Freshness{Stale: true}})
	if violations := recording.Violations(Evidence{}); len(violations) > 0 {
		t.Error(violations)
	}
}
