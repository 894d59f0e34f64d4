package validate

import (
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Recording is all that one caller was told about a selection: in one call, or in
// several, each of which goes on where the caller was then.
type Recording struct {
	// Name tells the recording from others in what is said about it.
	Name string
	// Selection is what was watched.
	Selection Selection
	// CatchUp says where the caller may be told latest states instead of steps.
	CatchUp CatchUp
	// Stalled says that the caller did not read all the time: it cannot tell a silence.
	Stalled bool
	// Calls are the calls, one after another.
	Calls []Call
}

// CatchUp says where in a recording latest states may stand instead of every step.
// Only there, a MODIFIED or a DELETED may be about what the caller does not hold,
// and a DELETED may come without content.
type CatchUp int

const (
	// AfterResume is at the beginning of a call with a token.
	AfterResume CatchUp = iota
	// Nowhere is for a caller whose tokens are all within what the service remembers
	// step by step.
	Nowhere
	// WhenBack is for a caller that goes back to older tokens, which may lie behind what the
	// service remembers step by step.
	WhenBack
	// Anywhere is for a caller that stalls, and for one whose replica may be behind the
	// one that it comes from.
	Anywhere
)

// Call is one watch.
type Call struct {
	// Token is the resume token that the caller presented; empty if it began anew.
	Token string
	// From is the response whose token that is; nil if it is the last one before this call.
	From *Place
	// Began and Ended are when it was made, and when it was over; Ended is zero if
	// it was not.
	Began, Ended time.Time
	// Err is how it ended.
	Err error
	// Responses are the messages, in order.
	Responses []Response
}

// Place is that of a response in a recording: both count from 0.
type Place struct{ Call, Response int }

// Response is one message of a stream.
type Response struct {
	// At is when it came.
	At time.Time
	// Kind, Events, Token and Freshness are what it said.
	Kind      *kubeconnectv1.ResourceKind
	Events    []*kubeconnectv1.Event
	Token     string
	Freshness *kubeconnectv1.Freshness
	// Patches is how many of the events came as patches. Events has them whole.
	Patches int
}

// ResponseOf is a message that has come just now.
func ResponseOf(message *kubeconnectv1.WatchResponse) Response {
	patches := 0
	for _, event := range message.GetEvents() {
		if event.GetPatch() != whole {
			patches++
		}
	}
	return Response{
		At:        time.Now(),
		Kind:      message.GetKind(),
		Events:    message.GetEvents(),
		Token:     message.GetResumeToken(),
		Freshness: message.GetFreshness(),
		Patches:   patches,
	}
}

// has tells whether a message has an event of a type.
func (r *Response) has(eventType kubeconnectv1.EventType) bool {
	for _, event := range r.Events {
		if event.GetType() == eventType {
			return true
		}
	}
	return false
}

// last is the last event of a message; nil if it has none.
func (r *Response) last() *kubeconnectv1.Event {
	if len(r.Events) == 0 {
		return nil
	}
	return r.Events[len(r.Events)-1]
}
