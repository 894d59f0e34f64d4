package validate

import (
	"errors"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// In told, a and b come at once, b goes after two seconds and comes back after thirteen,
// and the stream ends after a minute.
func TestRightsThatAreKeptBreakNoGuarantee(t *testing.T) {
	for name, rights := range map[string]Rights{
		"nothing is known of them":        nil,
		"to all":                          {{From: began}},
		"to the namespace":                {{Namespace: "ns", From: began}},
		"to each of the objects":          {{Name: "a", From: began}, {Name: "b", From: began}},
		"lost, and noticed in time":       {{Name: "a", From: began}, {Name: "b", From: began, Until: second(1)}, {Name: "b", From: second(13)}},
		"lost, and regained meanwhile":    {{Name: "a", From: began}, {Name: "b", From: began, Until: second(14)}, {Name: "b", From: second(15)}},
		"lost when the stream is over":    {{Name: "a", From: began}, {Name: "b", From: began, Until: second(58)}},
		"lost at the end of the interval": {{Name: "a", From: began}, {Name: "b", From: began, Until: second(51)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range told().Violations(Evidence{Rights: rights, Recheck: 10 * time.Second}) {
				t.Error(violation)
			}
		})
	}
}

func TestAFaultWithARightIsFoundAtItsPlace(t *testing.T) {
	a := Right{Name: "a", From: began}
	for name, test := range map[string]struct {
		rights Rights
		fault  func(*Recording)
		rule   check
		index  int
	}{
		"without any right":                     {Rights{}, nil, comesByRight, 1},
		"in a namespace without a right":        {Rights{{Namespace: "other", From: began}}, nil, comesByRight, 1},
		"under a name without a right":          {Rights{a}, nil, comesByRight, 2},
		"before a right is granted":             {Rights{a, {Name: "b", From: second(1)}}, nil, comesByRight, 2},
		"after a right was lost":                {Rights{a, {Name: "b", From: began, Until: second(2)}}, nil, comesByRight, 9},
		"a right that is lost, and nobody told": {Rights{a, {Name: "b", From: began, Until: second(20)}}, nil, lossEndsInDeleted, 11},
		"the same, until the stream ends":       {Rights{a, {Name: "b", From: began, Until: second(45)}}, nil, lossEndsInDeletedAtTheEnd, 13},
		"a deletion of what was never held": {Rights{a, {Name: "b", From: began}}, func(r *Recording) {
			r.Calls[0].Responses[3].Events = append(r.Calls[0].Responses[3].Events, full(gone("secret", "8", "10")))
		}, comesByRight, 8},
		"the name of what was deleted": {Rights{a, {Name: "b", From: began}}, func(r *Recording) {
			r.CatchUp = Anywhere
			r.Calls[0].Responses[3].Events = []*kubeconnectv1.Event{gone("secret", "10", "10")}
		}, comesByRight, 7},
	} {
		t.Run(name, func(t *testing.T) {
			recording := told()
			if test.fault != nil {
				test.fault(recording)
			}
			for _, violation := range recording.Violations(Evidence{Rights: test.rights, Recheck: 10 * time.Second}) {
				if violation.Guarantee == Authorised {
					if violation.Rule != test.rule.name || violation.Index != test.index {
						t.Errorf("the first violation is not of %q at event %d: %v", test.rule.name, test.index, violation)
					}
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

// rescoped is a recording of someone who loses the right to b at the fifth second and
// regains it at the twentieth, while nothing is written.
func rescoped() *Recording {
	return &Recording{Calls: []Call{{
		Began: began,
		Responses: []Response{
			begins(after(0, "token at 5", reset(), full(object(added, "a", "2")), full(object(added, "b", "4")), synced("5"))),
			after(6, "token at 8", gone("b", "8", "8")),
			after(21, "token at 8", at("8", full(object(added, "b", "4")))),
			fresh(after(31, "token at 9", bookmark("9"))),
		},
	}}}
}

// lostAndRegained are the rights that lead to rescoped.
func lostAndRegained() Rights {
	return Rights{{Name: "a", From: second(-60)}, {Name: "b", From: second(-60), Until: second(5)}, {Name: "b", From: second(20)}}
}

// underRights is the evidence that there can be about rescoped.
func underRights(rights Rights) Evidence {
	writes := NewWrites("ns")
	writes.Add(written("a", "2"))
	writes.Add(written("b", "4"), written("b", "12"))
	return Evidence{Writes: writes, EveryStep: true, Silence: 20 * time.Second, Rights: rights, Recheck: 3 * time.Second}
}

func TestAChangeOfRightsIsTold(t *testing.T) {
	for name, fault := range map[string]func(*Recording){
		"as it is": func(*Recording) {},
		"in the state that is the stream's last": func(r *Recording) {
			r.Calls[0].Responses[2] = after(21, "token at 12", full(object(added, "b", "12")))
			r.Calls[0].Responses[3] = fresh(after(31, "token at 12", bookmark("12")))
		},
		"in the state that a bookmark has closed": gainedBehindBookmark,
		"amid latest states":                      func(r *Recording) { r.CatchUp = Anywhere },
		"with a change behind it": func(r *Recording) {
			r.Calls[0].Responses[3] = after(31, "token at 12", full(object(modified, "b", "12")))
		},
		"twice, and nothing is new":    func(r *Recording) { againAt8(r) },
		"by a snapshot in another one": snapshotForRights,
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range change(rescoped(), fault).Violations(underRights(lostAndRegained())) {
				t.Error(violation)
			}
		})
	}
}

// What is gained may be newer than the version up to which everything is known to have come, and
// the deletion may come again.
func TestAChangeOfRightsAtTheVersionOfADeletionIsTold(t *testing.T) {
	evidence := underRights(lostAndRegained())
	evidence.Writes = NewWrites("ns")
	evidence.Writes.Add(written("a", "2"), Write{Key: Key{"ns", "a"}, UID: written("a", "2").UID, Deleted: true, Version: "13"})
	evidence.Writes.Add(written("b", "4"), written("b", "12"))
	recording := rescoped()
	first := &recording.Calls[0]
	first.Responses = append(first.Responses[:2], after(21, "token at 12", full(gone("a", "2", "13")), at("13", full(object(added, "b", "12")))))
	first.Ended, first.Err = second(22), connect.NewError(connect.CodeCanceled, errors.New("that is enough"))
	recording.Calls = append(recording.Calls, Call{Token: "token at 12", Began: second(22), Responses: []Response{
		after(23, "token at 12", full(gone("a", "2", "13"))), // again
		fresh(after(32, "token at 13", bookmark("13"))),
	}})
	for _, violation := range recording.Violations(evidence) {
		t.Error(violation)
	}
}

// gainedBehindBookmark gains b at its newest version, which the stream has come to before.
func gainedBehindBookmark(r *Recording) {
	r.Calls[0].Responses[2] = fresh(after(20, "token at 12", bookmark("12")))
	r.Calls[0].Responses[3] = after(21, "token at 12", full(object(added, "b", "12")))
}

// againAt8 loses b a second time, at the same version.
func againAt8(r *Recording) {
	r.Calls[0].Responses = append(r.Calls[0].Responses[:3], after(22, "token at 8", gone("b", "8", "8")), after(23, "token at 8", at("8", full(object(added, "b", "4")))))
}

func snapshotForRights(r *Recording) {
	r.Calls[0].Responses[2] = begins(after(21, "token at 8", reset(), full(object(added, "a", "2")), full(object(added, "b", "4")), synced("8")))
}

func TestAFaultWithAChangeOfRightsIsFound(t *testing.T) {
	kept := Rights{{From: second(-60)}}
	for name, test := range map[string]struct {
		rights Rights
		fault  func(*Recording)
		rule   string
		index  int
	}{
		"nothing is known of rights":                  {nil, nil, contentIsThere.name, 4},
		"DELETED, and no right was lost":              {kept, nil, changeFollowsRights.name, 4},
		"ADDED, and no right was gained":              {Rights{{Name: "a", From: second(-60)}, {Name: "b", From: second(-60)}}, func(r *Recording) { remove(&r.Calls[0], 0, 2); remove(&r.Calls[0], 1, 0) }, changeFollowsRights.name, 3},
		"what is gained does not come":                {lostAndRegained(), func(r *Recording) { remove(&r.Calls[0], 2, 0) }, holdsWhatTheClusterHeld.name, 5},
		"what is gained comes under an older version": {lostAndRegained(), func(r *Recording) { r.Calls[0].Responses[2].Events[0].ResourceVersion = "7" }, eventsGoForward.name, 5},
		"what is lost goes under an older version":    {lostAndRegained(), func(r *Recording) { r.Calls[0].Responses[1].Events[0] = gone("b", "4", "4") }, eventsGoForward.name, 4},
		"what is gained is not what there is": {lostAndRegained(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[0] = at("8", full(object(added, "b", "3")))
		}, isAsWritten.name, 5},
		"what is gained has no content": {lostAndRegained(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[0] = at("8", object(added, "b", "4"))
		}, contentIsThere.name, 5},
		"what comes at the bookmark's version was not gained": {kept, gainedBehindBookmark, bookmarkCloses.name, 6},
		"what is lost is changed": {lostAndRegained(), func(r *Recording) {
			r.Calls[0].Responses[1].Events[0] = full(object(modified, "b", "8"))
		}, isAsWritten.name, 4},
	} {
		t.Run(name, func(t *testing.T) {
			recording := rescoped()
			if test.fault != nil {
				test.fault(recording)
			}
			violations := recording.Violations(underRights(test.rights))
			if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == test.rule && v.Index == test.index }) {
				t.Errorf("no violation of %q at event %d among %v", test.rule, test.index, violations)
			}
		})
	}
}

func second(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
