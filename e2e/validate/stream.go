package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Violation is one event that breaks a rule.
type Violation struct {
	// Rule is the rule's name, such as "one change is told once".
	Rule string
	// Index is the event's place in the stream, from 0.
	Index int
	// Event is the event.
	Event *kubeconnectv1.Event
	// Problem says what is wrong with it.
	Problem string
}

func (v Violation) String() string {
	return fmt.Sprintf("event %d (%s %s at version %q) breaks %q: %s",
		v.Index, v.Event.GetType(), KeyOf(v.Event.GetObject()), v.Event.GetResourceVersion(), v.Rule, v.Problem)
}

// rule is one thing that holds for every event of every stream.
type rule struct {
	name string
	// broken says what is wrong with the event that comes after those that the
	// model has applied, or nothing. It does not change the model.
	broken func(*Model, *kubeconnectv1.Event) string
}

// rules are all of them.
var rules = []rule{
	beginsWithReset,
	snapshotIsAdded,
	snapshotEnds,
	addedIsNew,
	changedIsHeld,
	changedIsTheSame,
	toldOnce,
	versionsGoForward,
	eventsGoForward,
	objectIsThere,
	versionIsThere,
}

// Stream returns every violation in the events of one watch, from its beginning
// on.
func Stream(events []*kubeconnectv1.Event) []Violation {
	var model Model
	var violations []Violation
	for index, event := range events {
		for _, rule := range rules {
			if problem := rule.broken(&model, event); problem != "" {
				violations = append(violations, Violation{Rule: rule.name, Index: index, Event: event, Problem: problem})
			}
		}
		model.Apply(event)
	}
	return violations
}
