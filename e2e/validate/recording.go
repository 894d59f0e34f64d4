package validate

import (
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Recording is all that one client received of a selection: in one call, or in several that each
// resume from the client's state at that time.
type Recording struct {
	// Name identifies the recording in violations.
	Name string
	// Selection is the selection of the watch.
	Selection Selection
	// CatchUp is where the client may receive latest states instead of steps.
	CatchUp CatchUp
	// Stalled reports that the client did not read all the time, so that its silences cannot be
	// judged.
	Stalled bool
	// Calls holds the calls, one after another.
	Calls []Call
}

// CatchUp is where a recording may contain latest states instead of every step. Only there, a
// MODIFIED or a DELETED may be for an object that the client does not have, and a DELETED may have
// no content.
type CatchUp int

const (
	// AfterResume allows latest states at the beginning of a call with a token.
	AfterResume CatchUp = iota
	// Nowhere is for a client whose tokens are all within the service's window.
	Nowhere
	// WhenBack is for a client that goes back to earlier tokens, which may be older than the
	// service's window.
	WhenBack
	// Anywhere is for a client that stalls, and for a client whose replica may be older than its
	// previous one.
	Anywhere
)

// Call is one watch.
type Call struct {
	// Token is the resume token of the request; empty if the call had none.
	Token string
	// From is the position of the response whose token it is; nil for the last one before this
	// call.
	From *Place
	// Began and Ended are the times of the call's begin and end; Ended is zero if it has not ended.
	Began, Ended time.Time
	// Err is the error of the call.
	Err error
	// Responses holds the messages, in order.
	Responses []Response
}

// Place is the position of a response in a recording. Both numbers count from 0.
type Place struct{ Call, Response int }

// Response is one message of a stream.
type Response struct {
	// At is the time at which it was received.
	At time.Time
	// Kind, Events, Token and Freshness are fields of the message.
	Kind      *kubeconnectv1.Resource
	Events    []*kubeconnectv1.Event
	Token     string
	Freshness *kubeconnectv1.Freshness
	// Page is the field of the message; nil in a watch of all objects.
	Page *kubeconnectv1.PageState
	// Patches is the number of events that arrived as patches. Events has their complete objects.
	Patches int
}

// ModelAt returns the client's state after the response at a place.
func (r *Recording) ModelAt(place Place) Model {
	model := r.modelBefore(place.Call)
	for _, response := range r.Calls[place.Call].Responses[:place.Response+1] {
		for _, event := range response.Events {
			model.Apply(event)
		}
	}
	return model
}

// modelBefore returns the client's state at the beginning of a call.
func (r *Recording) modelBefore(call int) Model {
	switch from := r.Calls[call].From; {
	case r.Calls[call].Token == "" || from == nil && call == 0:
		return Model{}
	case from != nil:
		return r.ModelAt(*from)
	}
	return r.ModelAt(Place{Call: call - 1, Response: len(r.Calls[call-1].Responses) - 1})
}

// ResponseOf returns the Response of a message received now.
func ResponseOf(message *kubeconnectv1.WatchResponse) Response {
	patches := 0
	for _, event := range message.GetEvents() {
		if event.GetPatchFormat() != noPatch {
			patches++
		}
	}
	return Response{
		At:        time.Now(),
		Kind:      message.GetResource(),
		Events:    message.GetEvents(),
		Token:     message.GetResumeToken(),
		Freshness: message.GetFreshness(),
		Page:      message.GetPage(),
		Patches:   patches,
	}
}

// has reports whether a message has an event of a type.
func (r *Response) has(eventType kubeconnectv1.EventType) bool {
	for _, event := range r.Events {
		if event.GetType() == eventType {
			return true
		}
	}
	return false
}

// last returns the last event of a message; nil if it has none.
func (r *Response) last() *kubeconnectv1.Event {
	if len(r.Events) == 0 {
		return nil
	}
	return r.Events[len(r.Events)-1]
}
