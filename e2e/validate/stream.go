package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Violation is one event that violates a rule.
type Violation struct {
	// Guarantee is the violated guarantee.
	Guarantee Guarantee
	// Stream is the name of the recording; empty if it has none.
	Stream string
	// Call is the index of the call in the recording, from 0.
	Call int
	// Rule is the name of the rule, such as "a change is delivered once".
	Rule string
	// Index is the index of the event in the recording, from 0.
	Index int
	// Event is the event; nil if the violation is not of one event.
	Event *kubeconnectv1.Event
	// Problem describes the violation.
	Problem string
}

func (v Violation) String() string {
	description := ""
	if v.Event != nil {
		description = fmt.Sprintf(" (%s %s at version %q)", v.Event.GetType(), KeyOf(v.Event.GetObject()), v.Event.GetResourceVersion())
	}
	return fmt.Sprintf("%sevent %d%s violates %s, %q: %s", v.stream(), v.Index, description, v.Guarantee, v.Rule, v.Problem)
}

func (v Violation) stream() string {
	if v.Stream == "" {
		return ""
	}
	return fmt.Sprintf("%s: call %d, ", v.Stream, v.Call)
}

// rule is a condition on every event of every stream.
type rule struct {
	guarantee Guarantee
	name      string
	// exact rules apply only where every step is sent, and not to latest states.
	exact bool
	// broken returns the problem with an event that follows the events applied to the model, or an
	// empty string. It does not change the model.
	broken func(*Model, *kubeconnectv1.Event) string
}

// rules lists all rules.
var rules = []rule{
	beginsWithReset,
	snapshotChangesWhatWasSent,
	snapshotEnds,
	addedIsNew,
	changedIsHeld,
	modifiedIsTheSame,
	deletedIsTheSame,
	deliveredOnce,
	versionsGoForward,
	eventsGoForward,
	syncedIsNewest,
	objectIsPresent,
	deletedIsNewer,
	patchAppliesToState,
}
