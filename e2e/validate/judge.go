package validate

import (
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// fullResponse is the message size, in bytes, from which the next event may not fit. The API
// specifies about 1 MiB.
const fullResponse = 1 << 20 * 9 / 10

// judge replays a recording as its client received it, and records the violations of guarantees.
type judge struct {
	recording  *Recording
	evidence   Evidence
	violations []Violation

	// The client's state.
	model     Model
	delivered map[step]bool   // the changes sent since the last RESET
	saved     map[Place]state // after the responses that the client goes back to
	// resumed is the client's state when this call began, and toldBefore the changes that had been
	// sent by then.
	resumed         Model
	deliveredBefore map[step]bool
	calls           int // index of the current call
	index           int // index of the last event; -1 before the first
	// contacted is the last contact that this call has reported.
	contacted time.Time
	// freshAt is the time of the last response that had freshness and a token, in this call; zero while a
	// snapshot or latest states are being sent.
	freshAt time.Time

	// The current position in the recording.
	call     *Call
	previous *Response // the previous one in this call
	response *Response
	next     *Response // the next one in this call
	event    *kubeconnectv1.Event
	catchUp  bool // whether latest states are allowed here
}

// state is a client's state at a position, with the changes sent by then.
type state struct {
	model     Model
	delivered map[step]bool
}

// step is one change of one object.
type step struct {
	key          Key
	uid, version string
}

// check is a condition on the judge's current event, response or call.
type check struct {
	guarantee Guarantee
	name      string
	broken    func(*judge) string
}

// Violations returns all violations in a recording, in order.
func (r *Recording) Violations(evidence Evidence) []Violation {
	j := &judge{recording: r, evidence: evidence, index: -1, saved: make(map[Place]state)}
	for i := range r.Calls {
		if from := r.Calls[i].From; from != nil {
			j.saved[*from] = state{}
		}
	}
	for i := range r.Calls {
		j.calls = i
		j.readCall(&r.Calls[i])
	}
	return j.violations
}

func (j *judge) readCall(call *Call) {
	switch {
	case call.Token == "":
		j.model, j.delivered = Model{}, nil // the client starts without state
	case call.From != nil:
		back := j.saved[*call.From]
		j.model, j.delivered = back.model.Clone(), maps.Clone(back.delivered)
	}
	j.resumed, j.deliveredBefore = j.model.Clone(), maps.Clone(j.delivered)
	j.call, j.previous, j.contacted, j.freshAt = call, nil, time.Time{}, time.Time{}
	for i := range call.Responses {
		j.next = nil
		if i+1 < len(call.Responses) {
			j.next = &call.Responses[i+1]
		}
		waits := call.Responses[i].isOfWaitingStream()
		if waits {
			j.readWaiting(&call.Responses[i])
		} else {
			j.readResponse(&call.Responses[i])
		}
		place := Place{j.calls, i}
		if _, used := j.saved[place]; used {
			j.saved[place] = state{j.model.Clone(), maps.Clone(j.delivered)}
		}
		if !waits || j.previous != nil {
			j.previous = &call.Responses[i]
		}
	}
	j.response, j.event, j.next = nil, nil, nil
	j.apply(callChecks)
}

// readWaiting reads a response which reports that the stream waits. The
// client's state does not change.
func (j *judge) readWaiting(response *Response) {
	j.response = response
	j.index += len(response.Events)
	j.apply(waitingChecks)
}

func (j *judge) readResponse(response *Response) {
	j.catchUp = j.mayCatchUp(response)
	j.response = response
	for _, event := range response.Events {
		j.readEvent(event)
	}
	j.apply(responseChecks)
	if contact, ok := response.contact(); ok {
		j.contacted = contact
	}
	switch {
	case response.Token == "":
		j.freshAt = time.Time{}
	case response.Freshness != nil:
		j.freshAt = response.At
	}
}

func (j *judge) readEvent(event *kubeconnectv1.Event) {
	j.event = event
	j.index++
	for _, rule := range rules {
		if rule.exact && (j.catchUp || j.mayRepeatDeletion()) {
			continue
		}
		j.note(rule.guarantee, rule.name, rule.broken(&j.model, event))
	}
	j.apply(eventChecks)
	j.remember(event)
	j.model.Apply(event)
}

func (j *judge) remember(event *kubeconnectv1.Event) {
	switch {
	case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET || j.delivered == nil:
		j.delivered = make(map[step]bool)
	}
	if isAboutObject(event) {
		delete(j.deliveredBefore, stepOf(event)) // a deletion is sent again at most once
		j.delivered[stepOf(event)] = true
	}
}

func stepOf(event *kubeconnectv1.Event) step {
	return step{KeyOf(event.GetObject()), event.GetObject().GetUid(), event.GetResourceVersion()}
}

// mayCatchUp reports whether a response may contain latest states: the first one after a resume
// may, and the responses that continue it because it was full.
func (j *judge) mayCatchUp(response *Response) bool {
	switch {
	case j.recording.CatchUp == Anywhere:
		return true
	case j.call.Token == "", j.recording.CatchUp == Nowhere, j.recording.CatchUp == WhenBack && j.call.From == nil:
		return false
	case j.previous == nil:
		return true
	}
	return j.catchUp && (j.previous.Token == "" || continuesResponse(j.previous, response))
}

// continuesResponse reports whether a response may continue the previous one, because the previous
// one was full.
func continuesResponse(before, response *Response) bool {
	return len(response.Events) > 0 && sizeOf(before.Events...)+sizeOf(response.Events[0]) > fullResponse
}

// isAmidCatchUp reports whether the next response may contain more latest states. Until these have
// arrived, the client's state is not that of any one version.
func (j *judge) isAmidCatchUp() bool {
	return j.catchUp && (j.response.Token == "" || j.recording.CatchUp == Anywhere || j.next == nil || continuesResponse(j.response, j.next))
}

func sizeOf(events ...*kubeconnectv1.Event) int {
	size := 0
	for _, event := range events {
		size += proto.Size(event)
	}
	return size
}

func (j *judge) apply(checks []check) {
	for _, check := range checks {
		j.note(check.guarantee, check.name, check.broken(j))
	}
}

func (j *judge) note(guarantee Guarantee, rule, problem string) {
	if problem == "" {
		return
	}
	j.violations = append(j.violations, Violation{
		Guarantee: guarantee, Rule: rule, Stream: j.recording.Name, Call: j.calls, Index: j.index, Event: j.event, Problem: problem,
	})
}

// eventChecks run before the model applies an event, responseChecks after the last event of a
// response, and callChecks at the end of a call.
var (
	eventChecks    = []check{deliveredOnceBetweenResets, changeIsVisible, bookmarkCloses, recreatedIsDeletedFirst, contentIsPresent, resetIsFirst, isAsWritten, contentIsAsWritten, everyStepIsSent, versionIsPresent, sentWithPermission, changeFollowsPermissions}
	responseChecks = []check{
		hasObjectsOfCluster, kindIsPresent, kindIsNotRepeated,
		tokenIsPresent, noTokenInSnapshot,
		neverSilent,
		reportsFreshness,
		freshIsCurrent, freshHasNothingDeleted, freshnessIsPresent, contactIsPast, contactGoesForward, outageIsReported, recoveryIsReported,
		lossEndsInDeleted,
	}
	waitingChecks = []check{waitingIsStaleWithoutSnapshot, waitingKeepsTheToken}
	callChecks    = []check{endsWithoutError, neverSilentAtTheEnd, lossEndsInDeletedAtTheEnd}
)
