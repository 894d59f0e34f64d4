package validate

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

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
			r.Calls[0].Err = connect.NewError(connect.CodeUnavailable, "call again").WithRemote()
		}), all()},
		"the connection broke": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Err = connect.NewError(connect.CodeInternal, "unexpected EOF")
		}), all()},
		"a full response without a token": {change(correctRecording(), endWithoutRoom), all()},
		"a late deletion, whose version is unknown": {change(correctRecording(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[1].ResourceVersion = "8"
		}), all()},
		"a deletion that is sent again after a resume": {deletedAgain(), all()},
		"a deletion that the bookmark behind latest states is older than": {change(resumed(), func(r *Recording) {
			states := &r.Calls[1].Responses[0]
			states.Events = append(states.Events, newDeleted("d", "14", "14"))
		}), Evidence{Writes: deletedAfterABookmark()}},
		"a client that goes back to an earlier message": {wentBack(), all()},
		"writes acknowledged before the last contact":   {correctRecording(), Evidence{Writes: ackedAt(13), Delivery: 2 * time.Second}},
		"writes in transit at the last contact":         {correctRecording(), Evidence{Writes: ackedAt(10), Delivery: 2 * time.Second}},
		"stale, and a write in transit at the last contact": {change(correctRecording(), func(r *Recording) {
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
				r.Calls[0].Responses[3].Freshness.LastContactTime = timestamppb.New(began.Add(12 * time.Second))
			}, Evidence{Writes: ackedAt(9), Delivery: 2 * time.Second}, Fresh, 7,
		},
		"a write before the last contact that was not sent by a stale stream": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3].Freshness.Stale = true
				r.Calls[0].Responses[3].Freshness.LastContactTime = timestamppb.New(began.Add(12 * time.Second))
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
		"a bookmark older than a deletion that was not sent": {
			resumed(), func(*Recording) {}, Evidence{Writes: deletedAfterABookmark()}, Complete, 9,
		},
		"DELETED of the predecessor of an object, in latest states": {
			resumed(), func(r *Recording) {
				events := r.Calls[1].Responses[0].Events
				r.Calls[1].Responses[0].Events = append(events, withUID(newDeleted("b", "14", "14"), "before"))
			}, Evidence{}, Complete, 9,
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
		"the kind again, after a wait": {
			resumed(), func(r *Recording) {
				waitFirst(&r.Calls[1], Response{Token: "token at 5", Freshness: &kubeconnectv1.Freshness{Stale: true}})
				r.Calls[1].Responses[1] = begins(r.Calls[1].Responses[1])
			}, Evidence{}, Complete, 9,
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
				r.Calls[1] = Call{Token: "token at 5", Ended: began, Err: connect.NewError(connect.CodeOutOfRange, "expired").WithRemote()}
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
		"a busy stream that does not report how current it is": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[5] = after(23, "token at 13") }, all(), Bookmarked, 9,
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
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[3].Freshness.LastContactTime = nil }, Evidence{}, Fresh, 7,
		},
		"a last contact in the future": {
			correctRecording(), func(r *Recording) {
				r.Calls[0].Responses[3].Freshness.LastContactTime = timestamppb.New(began.Add(13 * time.Second))
			}, Evidence{}, Fresh, 7,
		},
		"an older last contact": {
			correctRecording(), func(r *Recording) { r.Calls[0].Responses[5].Freshness.LastContactTime = timestamppb.New(began) }, Evidence{}, Fresh, 10,
		},
		"an outage that is not reported": {
			correctRecording(), func(*Recording) {}, Evidence{Outages: outage(16, 32)}, Fresh, 10,
		},
		"an outage that is reported with an impossible contact": {
			correctRecording(), func(r *Recording) {
				lose(r, 5, 30)
				r.Calls[0].Responses[5].Freshness.LastContactTime = timestamppb.New(began.Add(22 * time.Second))
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

func TestRecording_CallsCanBeginWithAWaitForASnapshot(t *testing.T) {
	recording := resumed()
	waitFirst(&recording.Calls[1], Response{Token: recording.Calls[1].Token, Freshness: &kubeconnectv1.Freshness{Stale: true}})
	if violations := recording.Violations(Evidence{}); len(violations) > 0 {
		t.Error(violations)
	}
}
