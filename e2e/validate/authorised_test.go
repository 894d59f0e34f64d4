package validate

import (
	"testing"
	"time"

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

func second(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
