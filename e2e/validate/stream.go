package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Violation is one event that breaks a rule.
type Violation struct {
	// Guarantee is the promise that it breaks.
	Guarantee Guarantee
	// Stream is the name of the recording, where it has one.
	Stream string
	// Call is the call's place in the recording, from 0.
	Call int
	// Rule is the rule's name, such as "one change is told once".
	Rule string
	// Index is the event's place in the stream, from 0.
	Index int
	// Event is the event; nil if none is to blame.
	Event *kubeconnectv1.Event
	// Problem says what is wrong with it.
	Problem string
}

func (v Violation) String() string {
	what := ""
	if v.Event != nil {
		what = fmt.Sprintf(" (%s %s at version %q)", v.Event.GetType(), KeyOf(v.Event.GetObject()), v.Event.GetResourceVersion())
	}
	return fmt.Sprintf("%sevent %d%s breaks %s, %q: %s", v.stream(), v.Index, what, v.Guarantee, v.Rule, v.Problem)
}

func (v Violation) stream() string {
	if v.Stream == "" {
		return ""
	}
	return fmt.Sprintf("%s: call %d, ", v.Stream, v.Call)
}

// rule is one thing that holds for every event of every stream.
type rule struct {
	guarantee Guarantee
	name      string
	// exact rules hold only where every step is told, and not in latest states.
	exact bool
	// broken says what is wrong with the event that comes after those that the
	// model has applied, or nothing. It does not change the model.
	broken func(*Model, *kubeconnectv1.Event) string
}

// rules are all of them.
var rules = []rule{
	beginsWithReset,
	snapshotChangesWhatWasSent,
	snapshotEnds,
	addedIsNew,
	changedIsHeld,
	changedIsTheSame,
	toldOnce,
	versionsGoForward,
	eventsGoForward,
	syncedIsNewest,
	objectIsThere,
	deletedIsNewer,
	patchIsToWhatIsHeld,
}
