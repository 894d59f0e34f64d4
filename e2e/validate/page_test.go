package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// ranked returns a write with a rank and a content.
func ranked(name, version string, rank int) Write {
	write := written(name, version)
	write.Content = map[string]any{"spec": map[string]any{"rank": float64(rank)}}
	return write
}

// rankedHistory returns the writes to a, b, c and d, of which b moves and c is deleted.
func rankedHistory() *Writes {
	writes := NewWrites("ns")
	deletion := deletedBy("c", "9")
	deletion.Exact = true
	writes.Add(ranked("a", "2", 1), ranked("b", "3", 2), ranked("b", "8", 4), ranked("c", "4", 3), deletion, ranked("d", "5", 5))
	return writes
}

// shownAs returns an event of a page, with the content of a write.
func shownAs(eventType kubeconnectv1.EventType, name, own string, rank int, index int32, version string) *kubeconnectv1.Event {
	event := object(eventType, name, own)
	event.Object.Content = &kubeconnectv1.Object_Json{Json: fmt.Appendf(nil, `{"spec":{"rank":%d}}`, rank)}
	return placed(event, index, version)
}

func placed(event *kubeconnectv1.Event, index int32, version string) *kubeconnectv1.Event {
	event.Index, event.ResourceVersion = index, version
	return event
}

func leaves(index int32, version string) *kubeconnectv1.Event {
	return placed(&kubeconnectv1.Event{Type: kubeconnectv1.EventType_EVENT_TYPE_DELETED}, index, version)
}

func stated(response Response, total, offset int64, version string) Response {
	response.Page = &kubeconnectv1.PageState{TotalCount: total, Offset: offset, ResourceVersion: version}
	return response
}

// correctPages returns a recording of rankedHistory without a fault: a page of two after the first
// object, and then of one after the object b.
func correctPages() *PageRecording {
	cancelled := connect.NewError(connect.CodeCanceled, "cancelled by the test")
	moved := placed(object(kubeconnectv1.EventType_EVENT_TYPE_MOVED, "d", "5"), 1, "9")
	return &PageRecording{
		Order:  Order{keys: []orderKey{{path: []string{"spec", "rank"}}}},
		Ranges: []PageRange{{Limit: 2, Offset: 1}, {Limit: 1, After: &Key{"ns", "b"}}},
		Recording: Recording{Selection: web, Calls: []Call{
			{Began: began, Ended: second(20), Err: cancelled, Responses: []Response{
				stated(begins(after(0, "token at 5", reset(), shownAs(added, "b", "3", 2, 0, "5"), shownAs(added, "c", "4", 3, 1, "5"), synced("5"))), 4, 1, "5"),
				stated(after(1, "token at 8", shownAs(modified, "b", "8", 4, 1, "8")), 4, 1, "8"),
				stated(after(2, "token at 9", leaves(0, "9"), shownAs(added, "d", "5", 5, 0, "9"), moved), 3, 1, "9"),
				fresh(after(9, "token at 10", bookmark("10"))),
			}},
			{Token: "token at 10", Began: second(21), Responses: []Response{
				stated(after(22, "second token at 10", leaves(0, "10")), 3, 2, "10"),
			}},
		}},
	}
}

func TestPageRecording_CorrectOneHasNoViolations(t *testing.T) {
	for name, evidence := range map[string]Evidence{"with evidence": {Writes: rankedHistory()}, "without evidence": {}} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range correctPages().Violations(evidence) {
				t.Error(violation)
			}
		})
	}
}

// TestPageRecording_ObjectsThatExpireMayBeDeletedOneByOne has c, behind the page, expire at version 9. Its
// deletion arrives after that of another object at this version.
func TestPageRecording_ObjectsThatExpireMayBeDeletedOneByOne(t *testing.T) {
	for name, test := range map[string]struct {
		expired  bool
		bookmark string
		want     string
	}{
		"expired":                       {true, "8", ""},
		"deleted alone":                 {false, "8", pageIsOfCluster.name},
		"expired after its BOOKMARK":    {true, "9", pageIsClosedByBookmarks.name},
		"expired, with an old BOOKMARK": {true, "7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			writes := NewWrites("ns")
			deletion := deletedBy("c", "9")
			deletion.Expired, deletion.Exact = test.expired, !test.expired
			writes.Add(ranked("a", "2", 1), ranked("b", "3", 2), ranked("c", "4", 3), deletion)
			recording := &PageRecording{
				Order:  Order{keys: []orderKey{{path: []string{"spec", "rank"}}}},
				Ranges: []PageRange{{Limit: 1}},
				Recording: Recording{Selection: web, Calls: []Call{{Began: began, Responses: []Response{
					stated(begins(after(0, "token at 5", reset(), shownAs(added, "a", "2", 1, 0, "5"), synced("5"))), 3, 0, "5"),
					stated(fresh(after(1, "token at 9", bookmark(test.bookmark))), 3, 0, "9"),
					stated(fresh(after(2, "token at 9", bookmark(test.bookmark))), 2, 0, "9"),
				}}}},
			}
			var rules []string
			for _, violation := range recording.Violations(Evidence{Writes: writes}) {
				rules = append(rules, violation.Rule)
			}
			if isCorrect := len(rules) == 0; isCorrect != (test.want == "") || !isCorrect && !slices.Contains(rules, test.want) {
				t.Errorf("violations of %q, want %q", rules, test.want)
			}
		})
	}
}

func TestPageRecording_FaultsAreViolations(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(first, second *Call, r *PageRecording)
		want string
	}{
		"a resumed call begins with RESET": {
			edit: func(_, second *Call, _ *PageRecording) {
				second.Responses[0] = stated(begins(after(22, "token", reset(), shownAs(added, "d", "5", 5, 0, "10"), synced("10"))), 3, 2, "10")
			}, want: pageResetsOnlyAtFirst.name,
		},
		"a resumed call has no state": {edit: func(_, second *Call, _ *PageRecording) {
			second.Responses[0] = fresh(after(22, "token", bookmark("10")))
		}, want: pageStateComesFirst.name},
		"a change without a state":          {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[2].Page = nil }, want: pageStateFollowsChanges.name},
		"a state without a token":           {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Token = "" }, want: pageHasToken.name},
		"an older page":                     {edit: func(_, second *Call, _ *PageRecording) { second.Responses[0].Page.ResourceVersion = "8" }, want: pageGoesForward.name},
		"an event with its own version":     {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[2].Events[1].ResourceVersion = "5" }, want: pageEventsHaveItsVersion.name},
		"a total that is too large":         {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Page.TotalCount = 5 }, want: pageIsOfCluster.name},
		"another offset than the requested": {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Page.Offset = 2 }, want: pageFits.name},
		"a page that is not full":           {edit: func(_, _ *Call, r *PageRecording) { r.Ranges[0].Limit = 3 }, want: pageFits.name},
		"an object in a wrong place":        {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Events[0].Index = 0 }, want: pageIsOfCluster.name},
		"an object that was not modified":   {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Events = nil }, want: pageIsOfCluster.name},
		"an object that was deleted": {
			edit: func(first, _ *Call, _ *PageRecording) {
				first.Responses[2] = stated(after(2, "token at 9"), 4, 1, "9")
			}, want: pageIsOfCluster.name,
		},
		"an object of another rank before the page": {edit: func(_, second *Call, r *PageRecording) { r.Ranges[1].After = &Key{"ns", "a"} }, want: pageIsOfCluster.name},
		"another content": {
			edit: func(first, _ *Call, _ *PageRecording) {
				first.Responses[2].Events[1] = shownAs(added, "d", "5", 6, 0, "9")
			}, want: pageContentIsAsWritten.name,
		},
		"an object that is added twice": {
			edit: func(first, _ *Call, _ *PageRecording) { first.Responses[1].Events[0].Type = added }, want: "an event of a page applies",
		},
		"an index outside of the page": {edit: func(first, _ *Call, _ *PageRecording) { first.Responses[2].Events[0].Index = 2 }, want: "an event of a page applies"},
		"an object that stays is deleted and added": {
			edit: func(first, _ *Call, _ *PageRecording) {
				first.Responses[1].Events = []*kubeconnectv1.Event{leaves(0, "8"), shownAs(added, "b", "8", 4, 1, "8")}
			}, want: pageKeepsWhatStays.name,
		},
		"an unchanged object is modified": {
			edit: func(first, _ *Call, _ *PageRecording) {
				first.Responses[1].Events = append(first.Responses[1].Events, shownAs(modified, "c", "4", 3, 0, "8"))
			}, want: pageKeepsWhatStays.name,
		},
		"an error that the client must handle": {edit: func(first, _ *Call, _ *PageRecording) {
			first.Err = connect.NewError(connect.CodeNotFound, "gone").WithRemote()
		}, want: endsWithoutError.name},
	} {
		t.Run(name, func(t *testing.T) {
			recording := correctPages()
			test.edit(&recording.Calls[0], &recording.Calls[1], recording)
			violations := recording.Violations(Evidence{Writes: rankedHistory()})
			for _, violation := range violations {
				if strings.Contains(violation.Rule, test.want) {
					return
				}
			}
			t.Errorf("violations %v, want one of %q", violations, test.want)
		})
	}
}

func TestOrder_ComparesValuesOfAllKinds(t *testing.T) {
	inOrder := []any{nil, false, true, float64(-5), "-100m", float64(0), "500m", 0.75, float64(1), "1Ki", "1M", "a", "b-9", "b-10", "web-2", "web-10", "web-10-1"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			got := compareValues(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v compared with %v is %d", a, b, got)
			}
		}
	}
}
