package validate

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// pageJudge replays a recording of pages as its client received it, and records the violations of
// guarantees.
type pageJudge struct {
	recording  *PageRecording
	evidence   Evidence
	violations []Violation

	// The client's state.
	page  Page
	saved map[Place]Page // after the responses that the client goes back to

	// The current position in the recording.
	calls    int // index of the current call
	index    int // index of the last event; -1 before the first
	call     *Call
	previous *Response // the previous one in this call
	response *Response
	// before is the page at its last state, and stated reports whether this call has had a state.
	before Page
	stated bool
	// pending holds the events since the last state.
	pending []*kubeconnectv1.Event
	// anchor is the object before the page in its state at the last page that was computed while it was in
	// the selection; nil if there is none.
	anchor *Write
	// resets is the number of RESET events in this call.
	resets int
	// marked is the version of the newest BOOKMARK of this call before this response, since the last
	// RESET or change of the caller's permissions.
	marked string
}

// pageCheck is a condition on the judge's current response or call.
type pageCheck struct {
	guarantee Guarantee
	name      string
	broken    func(*pageJudge) string
}

// pageChecks run after each response that the client has applied, except waiting ones.
var pageChecks = []pageCheck{
	pageResetsOnlyAtFirst, pageStateComesFirst, pageStateFollowsChanges, pageHasToken, pageGoesForward,
	pageEventsHaveItsVersion, pageKeepsWhatStays, pageFits, pageIsOfCluster, pageContentIsAsWritten, pageIsAuthorised,
	pageSaysFreshness, pageIsCurrent, pageIsNeverSilent, pageIsClosedByBookmarks,
}

// Violations returns all violations in a recording, in order.
func (r *PageRecording) Violations(evidence Evidence) []Violation {
	j := &pageJudge{recording: r, evidence: evidence, index: -1, saved: make(map[Place]Page), page: r.Resumed.Clone()}
	for _, call := range r.Calls {
		if call.From != nil {
			j.saved[*call.From] = Page{}
		}
	}
	for i := range r.Calls {
		j.calls = i
		j.readCall(&r.Calls[i])
	}
	return j.violations
}

func (j *pageJudge) readCall(call *Call) {
	switch {
	case call.Token == "":
		j.page = Page{}
	case call.From != nil:
		back := j.saved[*call.From]
		j.page = back.Clone()
	}
	j.call, j.previous, j.before, j.stated, j.pending, j.anchor, j.resets, j.marked = call, nil, j.page.Clone(), false, nil, nil, 0, ""
	for i := range call.Responses {
		j.response = &call.Responses[i]
		j.index += len(j.response.Events)
		j.readResponse()
		j.previous = j.response
		if place := (Place{j.calls, i}); isUsed(j.saved, place) {
			j.saved[place] = j.page.Clone()
		}
	}
	j.note(Resumable, endsWithoutError.name, problemAtEnd(call))
}

func isUsed(saved map[Place]Page, place Place) bool {
	_, used := saved[place]
	return used
}

func (j *pageJudge) readResponse() {
	problems := j.page.Read(j.response)
	if j.response.isOfWaitingStream() {
		return
	}
	for _, problem := range problems {
		j.note(Complete, "an event of a page applies to the client's page", problem)
	}
	j.pending = append(j.pending, j.response.Events...)
	if j.response.Kind != nil {
		j.marked = ""
	}
	for _, check := range pageChecks {
		j.note(check.guarantee, check.name, check.broken(j))
	}
	if j.response.Page != nil {
		j.before, j.stated, j.pending = j.page.Clone(), true, nil
	}
	for _, event := range j.response.Events {
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
			j.marked = newerOf(j.marked, event.GetResourceVersion())
		}
	}
}

func (j *pageJudge) note(guarantee Guarantee, rule, problem string) {
	if problem == "" {
		return
	}
	problem += fmt.Sprintf(" (%s)", j.recording.Ranges[j.calls])
	j.violations = append(j.violations, Violation{
		Guarantee: guarantee, Rule: rule, Stream: j.recording.Name, Call: j.calls, Index: j.index, Problem: problem,
	})
}

// problemAtEnd returns the problem with the end of a call.
func problemAtEnd(call *Call) string {
	switch {
	case call.Ended.IsZero() || AsksForNothing(call.Err):
		return ""
	case call.Err == nil:
		return "it ended with success"
	}
	return fmt.Sprintf("it ended with %v", call.Err)
}

var pageResetsOnlyAtFirst = pageCheck{
	guarantee: Resumable,
	name:      "RESET begins only the first response of a call without token",
	broken: func(j *pageJudge) string {
		for i, event := range j.response.Events {
			if event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_RESET {
				continue
			}
			j.resets++
			if j.call.Token != "" || j.resets > 1 || i > 0 {
				return fmt.Sprintf("a RESET is event %d of a response, the call has a token: %v, RESETs in this call: %d", i, j.call.Token != "", j.resets)
			}
		}
		return ""
	},
}

var pageStateComesFirst = pageCheck{
	guarantee: Complete,
	name:      "the first response after a resume has a page state",
	broken: func(j *pageJudge) string {
		if j.call.Token == "" || j.stated || j.response.Page != nil || hasPageEvent(j.response.Events) {
			return ""
		}
		return "it has neither a state nor events that a state may follow"
	},
}

var pageStateFollowsChanges = pageCheck{
	guarantee: Complete,
	name:      "the events of a page lead to a state",
	broken: func(j *pageJudge) string {
		if !j.response.has(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK) || j.response.Page != nil || !hasPageEvent(j.pending) {
			return ""
		}
		return "a BOOKMARK comes before the state"
	},
}

func hasPageEvent(events []*kubeconnectv1.Event) bool {
	return slices.ContainsFunc(events, isPageEvent)
}

// isPageEvent reports whether an event changes the client's page.
func isPageEvent(event *kubeconnectv1.Event) bool {
	return isAboutObject(event) || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MOVED
}

var pageHasToken = pageCheck{
	guarantee: Resumable,
	name:      "a response with a page state has a token",
	broken: func(j *pageJudge) string {
		if j.response.Page == nil || j.response.Token != "" {
			return ""
		}
		return "it has no token"
	},
}

var pageGoesForward = pageCheck{
	guarantee: Ordered,
	name:      "the version of a page never decreases",
	broken: func(j *pageJudge) string {
		version := j.response.Page.GetResourceVersion()
		switch {
		case j.response.Page == nil || j.call.Token == "" && !j.stated:
			return ""
		case isNewer(j.before.State.GetResourceVersion(), version):
			return fmt.Sprintf("%q comes after %q", version, j.before.State.GetResourceVersion())
		}
		return ""
	},
}

var pageEventsHaveItsVersion = pageCheck{
	guarantee: Complete,
	name:      "the events of a page have the version of the page that they lead to",
	broken: func(j *pageJudge) string {
		if j.response.Page == nil {
			return ""
		}
		for _, event := range j.pending {
			if own := event.GetResourceVersion(); isPageEvent(event) && own != j.response.Page.GetResourceVersion() {
				return fmt.Sprintf("%s of index %d has version %q, the page %q", event.GetType(), event.GetIndex(), own, j.response.Page.GetResourceVersion())
			}
		}
		return ""
	},
}

// pageIsClosedByBookmarks judges the total, because a row can also be sent again when its joined objects
// have changed.
var pageIsClosedByBookmarks = pageCheck{
	guarantee: Bookmarked,
	name:      "nothing at or below the version of a BOOKMARK follows it",
	broken: func(j *pageJudge) string {
		state := j.response.Page
		if state == nil || j.marked == "" || isNewer(state.GetResourceVersion(), j.marked) || state.GetTotalCount() == j.before.State.GetTotalCount() {
			return ""
		}
		return fmt.Sprintf("the total is %d, and was %d, at version %s after a BOOKMARK at %s",
			state.GetTotalCount(), j.before.State.GetTotalCount(), state.GetResourceVersion(), j.marked)
	},
}

// pageKeepsWhatStays applies between two states of one call or of a resumed one. A client that
// shows the page animates by the types of the events.
var pageKeepsWhatStays = pageCheck{
	guarantee: Unique,
	name:      "an object that stays in a page is neither deleted nor added, and only a changed one is modified",
	broken: func(j *pageJudge) string {
		if j.response.Page == nil || j.before.State == nil {
			return ""
		}
		held := make(map[Key]*kubeconnectv1.Object)
		for _, object := range j.before.Objects {
			held[KeyOf(object)] = object
		}
		for _, event := range j.pending {
			object := event.GetObject()
			before := held[KeyOf(object)]
			if object == nil || before.GetUid() != object.GetUid() {
				continue
			}
			switch event.GetType() {
			case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
				return KeyOf(object).String() + " was in the page, and is ADDED"
			case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
				if before.GetResourceVersion() == object.GetResourceVersion() && sameContent(before, object) && sameJoins(before, object) {
					return KeyOf(object).String() + " is MODIFIED, and has the same version, content and joined objects"
				}
			}
		}
		return ""
	},
}

// sameJoins reports whether two objects have the same joined objects.
func sameJoins(a, b *kubeconnectv1.Object) bool {
	return proto.Equal(&kubeconnectv1.Object{Joined: a.GetJoined()}, &kubeconnectv1.Object{Joined: b.GetJoined()})
}

// pageFits checks a page by its own numbers, without evidence.
var pageFits = pageCheck{
	guarantee: Complete,
	name:      "a page has the objects that its range and its total imply",
	broken: func(j *pageJudge) string {
		if j.response.Page == nil {
			return ""
		}
		total, offset := j.response.Page.GetTotalCount(), j.response.Page.GetOffset()
		asked := j.recording.Ranges[j.calls]
		want := min(int64(asked.Limit), max(0, total-offset))
		switch {
		case int64(len(j.page.Objects)) != want:
			return fmt.Sprintf("the page has %d objects, want %d of %d after %d: %s", len(j.page.Objects), want, total, offset, namesOf(j.page.Objects))
		case asked.After == nil && offset != min(asked.Offset, total):
			return fmt.Sprintf("the offset is %d of %d", offset, total)
		}
		return ""
	},
}

var pageContentIsAsWritten = pageCheck{
	guarantee: Complete,
	name:      contentIsAsWritten.name,
	broken: func(j *pageJudge) string {
		if j.response.Page == nil || j.evidence.Writes == nil {
			return ""
		}
		for _, object := range j.changedSinceState() {
			if problem := contentDiffers(j.evidence.Writes, j.recording.Selection.View, object); problem != "" {
				return KeyOf(object).String() + ": " + problem
			}
		}
		return ""
	},
}

// changedSinceState returns the objects of the page that were sent since the last state.
func (j *pageJudge) changedSinceState() []*kubeconnectv1.Object {
	sent := make(map[Key]bool)
	for _, event := range j.pending {
		if event.GetObject().GetContent() != nil {
			sent[KeyOf(event.GetObject())] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(j.page.Objects), func(object *kubeconnectv1.Object) bool { return !sent[KeyOf(object)] })
}

var pageIsAuthorised = pageCheck{
	guarantee: Authorised,
	name:      "a page has only objects that its client may read",
	broken: func(j *pageJudge) string {
		if j.evidence.Rights == nil {
			return ""
		}
		for _, object := range j.page.Objects {
			if at := j.response.At; !j.evidence.Rights.within(KeyOf(object), at.Add(-j.evidence.Recheck), at) {
				return fmt.Sprintf("no permission at %s to read %s", clock(at), KeyOf(object))
			}
		}
		return ""
	},
}

var pageSaysFreshness = pageCheck{
	guarantee: Fresh,
	name:      freshnessIsPresent.name,
	broken: func(j *pageJudge) string {
		of := judge{response: j.response}
		return freshnessIsPresent.broken(&of)
	},
}

var pageIsCurrent = pageCheck{
	guarantee: Fresh,
	name:      freshIsCurrent.name,
	broken: func(j *pageJudge) string {
		contact, ok := j.response.contact()
		if !ok || j.response.Freshness.GetStale() || j.evidence.Writes == nil || j.evidence.Delivery == 0 || hasPageEvent(j.pending) && j.response.Page == nil {
			return ""
		}
		write := j.evidence.Writes.newestAcked(contact.Add(-j.evidence.Delivery))
		if write == nil || !isNewer(write.Version, j.page.Version) {
			return ""
		}
		return fmt.Sprintf("%s was written at version %s at %s, before the last contact, and the page is at %s", write.Key, write.Version, clock(write.Acked), j.page.Version)
	},
}

var pageIsNeverSilent = pageCheck{
	guarantee: Bookmarked,
	name:      neverSilent.name,
	broken: func(j *pageJudge) string {
		if j.previous == nil {
			return ""
		}
		of := judge{recording: &j.recording.Recording, evidence: j.evidence}
		return of.silence(j.previous.At, j.response.At)
	},
}

func namesOf(objects []*kubeconnectv1.Object) []Key {
	var keys []Key
	for _, object := range objects {
		keys = append(keys, KeyOf(object))
	}
	return keys
}
