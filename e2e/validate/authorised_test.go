package validate

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// In correctRecording, a and b arrive at once, b is deleted after two seconds and is recreated
// after thirteen, and the stream ends after a minute.
func TestAuthorised_ValidRecordingsHaveNoViolations(t *testing.T) {
	for name, rights := range map[string]Rights{
		"unknown":                            nil,
		"to all":                             {{From: began}},
		"to the namespace":                   {{Namespace: "ns", From: began}},
		"to each of the objects":             {{Name: "a", From: began}, {Name: "b", From: began}},
		"lost, and DELETED in time":          {{Name: "a", From: began}, {Name: "b", From: began, Until: second(1)}, {Name: "b", From: second(13)}},
		"lost, and granted again in between": {{Name: "a", From: began}, {Name: "b", From: began, Until: second(14)}, {Name: "b", From: second(15)}},
		"lost at the end of the stream":      {{Name: "a", From: began}, {Name: "b", From: began, Until: second(58)}},
		"lost at the end of the interval":    {{Name: "a", From: began}, {Name: "b", From: began, Until: second(51)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range correctRecording().Violations(Evidence{Rights: rights, Recheck: 10 * time.Second}) {
				t.Error(violation)
			}
		})
	}
}

func TestAuthorised_FaultsAreFoundAtTheirEvent(t *testing.T) {
	a := Right{Name: "a", From: began}
	for name, test := range map[string]struct {
		rights Rights
		fault  func(*Recording)
		rule   check
		index  int
	}{
		"without any permission":            {Rights{}, nil, sentWithPermission, 1},
		"in a namespace without permission": {Rights{{Namespace: "other", From: began}}, nil, sentWithPermission, 1},
		"of a name without permission":      {Rights{a}, nil, sentWithPermission, 2},
		"before the permission is granted":  {Rights{a, {Name: "b", From: second(1)}}, nil, sentWithPermission, 2},
		"after the permission was lost":     {Rights{a, {Name: "b", From: began, Until: second(2)}}, nil, sentWithPermission, 9},
		"a lost permission without DELETED": {Rights{a, {Name: "b", From: began, Until: second(20)}}, nil, lossEndsInDeleted, 11},
		"the same, until the stream ends":   {Rights{a, {Name: "b", From: began, Until: second(45)}}, nil, lossEndsInDeletedAtTheEnd, 13},
		"the deletion of an object that was never sent": {Rights{a, {Name: "b", From: began}}, func(r *Recording) {
			r.Calls[0].Responses[3].Events = append(r.Calls[0].Responses[3].Events, full(newDeleted("secret", "8", "10")))
		}, sentWithPermission, 8},
		"the name of a deleted object": {Rights{a, {Name: "b", From: began}}, func(r *Recording) {
			r.CatchUp = Anywhere
			r.Calls[0].Responses[3].Events = []*kubeconnectv1.Event{newDeleted("secret", "10", "10")}
		}, sentWithPermission, 7},
	} {
		t.Run(name, func(t *testing.T) {
			recording := correctRecording()
			if test.fault != nil {
				test.fault(recording)
			}
			for _, violation := range recording.Violations(Evidence{Rights: test.rights, Recheck: 10 * time.Second}) {
				if violation.Guarantee == Authorised {
					if violation.Rule != test.rule.name || violation.Index != test.index {
						t.Errorf("first violation, want %q at event %d: %v", test.rule.name, test.index, violation)
					}
					return
				}
			}
			t.Error("no violation found")
		})
	}
}

// rescoped returns a recording of a client that loses the permission to read b at the fifth second
// and regains it at the twentieth, while nothing is written.
func rescoped() *Recording {
	return &Recording{Calls: []Call{{
		Began: began,
		Responses: []Response{
			begins(after(0, "token at 5", reset(), full(object(added, "a", "2")), full(object(added, "b", "4")), synced("5"))),
			after(6, "token at 8", newDeleted("b", "8", "8")),
			after(21, "token at 8", at("8", full(object(added, "b", "4")))),
			fresh(after(31, "token at 9", bookmark("9"))),
		},
	}}}
}

// lostAndRegained returns the permissions that lead to rescoped.
func lostAndRegained() Rights {
	return Rights{{Name: "a", From: second(-60)}, {Name: "b", From: second(-60), Until: second(5)}, {Name: "b", From: second(20)}}
}

// underRights returns the complete evidence about rescoped.
func underRights(rights Rights) Evidence {
	writes := NewWrites("ns")
	writes.Add(written("a", "2"))
	writes.Add(written("b", "4"), written("b", "12"))
	return Evidence{Writes: writes, EveryStep: true, Silence: time.Minute, Rights: rights, Recheck: 3 * time.Second}
}

func TestAuthorised_PermissionChangesAreAccepted(t *testing.T) {
	for name, fault := range map[string]func(*Recording){
		"unchanged": func(*Recording) {},
		"in the state at the stream's version": func(r *Recording) {
			r.Calls[0].Responses[2] = after(21, "token at 12", full(object(added, "b", "12")))
			r.Calls[0].Responses[3] = fresh(after(31, "token at 12", bookmark("12")))
		},
		"in a state that a bookmark has closed": gainedBehindBookmark,
		"among latest states":                   func(r *Recording) { r.CatchUp = Anywhere },
		"with a change after it": func(r *Recording) {
			r.Calls[0].Responses[3] = after(31, "token at 12", full(object(modified, "b", "12")))
		},
		"twice, without a change":         func(r *Recording) { againAt8(r) },
		"by a snapshot inside the stream": snapshotForRights,
	} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range change(rescoped(), fault).Violations(underRights(lostAndRegained())) {
				t.Error(violation)
			}
		})
	}
}

// A gained object may be newer than the version that is known to be closed, and the deletion may be
// sent again.
func TestAuthorised_PermissionChangesAtADeletionAreAccepted(t *testing.T) {
	evidence := underRights(lostAndRegained())
	evidence.Writes = NewWrites("ns")
	evidence.Writes.Add(written("a", "2"), Write{Key: Key{"ns", "a"}, UID: written("a", "2").UID, Deleted: true, Version: "13"})
	evidence.Writes.Add(written("b", "4"), written("b", "12"))
	recording := rescoped()
	first := &recording.Calls[0]
	first.Responses = append(first.Responses[:2], after(21, "token at 12", full(newDeleted("a", "2", "13")), at("13", full(object(added, "b", "12")))))
	first.Ended, first.Err = second(22), connect.NewError(connect.CodeCanceled, "cancelled by the test")
	recording.Calls = append(recording.Calls, Call{Token: "token at 12", Began: second(22), Responses: []Response{
		after(23, "token at 12", full(newDeleted("a", "2", "13"))), // again
		fresh(after(32, "token at 13", bookmark("13"))),
	}})
	for _, violation := range recording.Violations(evidence) {
		t.Error(violation)
	}
}

// gainedBehindBookmark makes the client gain b at its newest version, which a bookmark has closed
// before.
func gainedBehindBookmark(r *Recording) {
	r.Calls[0].Responses[2] = fresh(after(20, "token at 12", bookmark("12")))
	r.Calls[0].Responses[3] = after(21, "token at 12", full(object(added, "b", "12")))
}

// againAt8 makes the client lose b a second time, at the same version.
func againAt8(r *Recording) {
	r.Calls[0].Responses = append(r.Calls[0].Responses[:3], after(22, "token at 8", newDeleted("b", "8", "8")), after(23, "token at 8", at("8", full(object(added, "b", "4")))))
}

func snapshotForRights(r *Recording) {
	r.Calls[0].Responses[2] = begins(after(21, "token at 8", reset(), full(object(added, "a", "2")), full(object(added, "b", "4")), synced("8")))
}

func TestAuthorised_FaultsOfPermissionChangesAreFound(t *testing.T) {
	kept := Rights{{From: second(-60)}}
	for name, test := range map[string]struct {
		rights Rights
		fault  func(*Recording)
		rule   string
		index  int
	}{
		"permissions are unknown":                      {nil, nil, contentIsPresent.name, 4},
		"DELETED without a lost permission":            {kept, nil, changeFollowsPermissions.name, 4},
		"ADDED without a gained permission":            {Rights{{Name: "a", From: second(-60)}, {Name: "b", From: second(-60)}}, func(r *Recording) { remove(&r.Calls[0], 0, 2); remove(&r.Calls[0], 1, 0) }, changeFollowsPermissions.name, 3},
		"a gained object is not sent":                  {lostAndRegained(), func(r *Recording) { remove(&r.Calls[0], 2, 0) }, hasObjectsOfCluster.name, 5},
		"a gained object is sent at an older version":  {lostAndRegained(), func(r *Recording) { r.Calls[0].Responses[2].Events[0].ResourceVersion = "7" }, eventsGoForward.name, 5},
		"a lost object is deleted at an older version": {lostAndRegained(), func(r *Recording) { r.Calls[0].Responses[1].Events[0] = newDeleted("b", "4", "4") }, eventsGoForward.name, 4},
		"a gained object is sent in a wrong state": {lostAndRegained(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[0] = at("8", full(object(added, "b", "3")))
		}, isAsWritten.name, 5},
		"a gained object has no content": {lostAndRegained(), func(r *Recording) {
			r.Calls[0].Responses[2].Events[0] = at("8", object(added, "b", "4"))
		}, contentIsPresent.name, 5},
		"an object at the bookmark's version was not gained": {kept, gainedBehindBookmark, bookmarkCloses.name, 6},
		"a lost object is modified": {lostAndRegained(), func(r *Recording) {
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
