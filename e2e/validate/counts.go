package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// CountsRecording is all that one client received of counts, in calls that each begin with a reset.
type CountsRecording struct {
	// Name identifies the recording in violations.
	Name string
	// Selection is the selection of the counts.
	Selection Selection
	// GroupBy and Sums are the paths of the groups, and of the values that are added up. The API
	// allows other aggregates, which are not judged.
	GroupBy, Sums [][]string
	// Calls holds the calls, one after another.
	Calls []CountsCall
}

// CountsCall is one watch of counts.
type CountsCall struct {
	// Ended is the time of the call's end; zero if it has not ended. Err is its error.
	Ended time.Time
	Err   error
	// Responses holds the messages with their times, in order.
	Responses []CountsResponse
}

// CountsResponse is one message, received at a time.
type CountsResponse struct {
	At      time.Time
	Message *kubeconnectv1.WatchCountsResponse
}

// Counts are the state of a client of counts. The zero value has none. It is not safe for concurrent
// use.
type Counts struct {
	// Groups holds the groups by their values as JSON.
	Groups map[string]*kubeconnectv1.ObjectGroup
	// Last is the last response with a version; nil before the first one.
	Last *kubeconnectv1.WatchCountsResponse
}

// Apply applies a response. It returns the problem with it.
func (c *Counts) Apply(response *kubeconnectv1.WatchCountsResponse) string {
	if isWaitingForCounts(response) {
		return ""
	}
	problem := ""
	if c.Last == nil && !response.GetReset_() {
		problem = "the first response has no reset"
	}
	if c.Last == nil || response.GetReset_() {
		c.Groups = make(map[string]*kubeconnectv1.ObjectGroup)
	}
	for _, group := range response.GetGroups() {
		key := groupKey(group.GetValues())
		if c.Groups[key] = group; group.GetCount() == 0 {
			delete(c.Groups, key)
		}
	}
	c.Last = response
	return problem
}

// repeats describes a group of a response that the client has already, or a removed group that it does
// not have.
func (c *Counts) repeats(response *kubeconnectv1.WatchCountsResponse) string {
	for _, group := range response.GetGroups() {
		key := groupKey(group.GetValues())
		held := c.Groups[key]
		switch {
		case response.GetReset_():
		case held == nil && group.GetCount() == 0:
			return "the client has no group " + key
		case held != nil && proto.Equal(held, group):
			return "the client has the group " + key + " with these numbers"
		}
	}
	return ""
}

func isWaitingForCounts(response *kubeconnectv1.WatchCountsResponse) bool {
	return response.GetResourceVersion() == "" && !response.GetReset_()
}

// groupKey returns the values of a group as JSON.
func groupKey[T any](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ParseCounts sets the selection and the paths of a recording to those of a request.
func (r *CountsRecording) ParseCounts(request *kubeconnectv1.WatchCountsRequest) (err error) {
	r.Selection, err = SelectionOf(&kubeconnectv1.WatchRequest{
		Namespace: request.GetNamespace(), LabelSelector: request.GetLabelSelector(), FieldSelector: request.GetFieldSelector(), Filter: request.GetFilter(),
	})
	for _, field := range request.GetGroupBy() {
		path, invalid := membersOf(field)
		if invalid != nil {
			return invalid
		}
		r.GroupBy = append(r.GroupBy, path)
	}
	for _, aggregate := range request.GetAggregates() {
		path, invalid := membersOf(aggregate.GetPath())
		if invalid != nil {
			return invalid
		}
		r.Sums = append(r.Sums, path)
	}
	return err
}

// Violations returns all violations in a recording, in order. Of the evidence it uses the writes and
// the rights.
func (r *CountsRecording) Violations(evidence Evidence) (violations []Violation) {
	for i, call := range r.Calls {
		var held Counts
		j := &countsJudge{recording: r, evidence: evidence, held: &held}
		for k, response := range call.Responses {
			note := func(guarantee Guarantee, rule, problem string) {
				if problem != "" {
					problem += fmt.Sprintf(" (%v)", response.Message)
					violations = append(violations, Violation{Guarantee: guarantee, Rule: rule, Stream: r.Name, Call: i, Index: k, Problem: problem})
				}
			}
			note(Ordered, "the version of counts never decreases without a reset", olderCounts(held.Last, response.Message))
			note(Unique, "a group is sent when its numbers have changed", held.repeats(response.Message))
			note(Complete, "counts apply to the client's counts", held.Apply(response.Message))
			note(Fresh, "counts have freshness", lacksFreshness(response.Message))
			note(Complete, "counts are those of the cluster at their version", j.differences(response))
		}
		if problem := problemAtEnd(&Call{Ended: call.Ended, Err: call.Err}); problem != "" {
			violations = append(violations, Violation{Guarantee: Resumable, Rule: endsWithoutError.name, Stream: r.Name, Call: i, Problem: problem})
		}
	}
	return violations
}

func olderCounts(last, next *kubeconnectv1.WatchCountsResponse) string {
	if last == nil || isWaitingForCounts(next) || next.GetReset_() {
		return ""
	}
	return olderVersion(last.GetResourceVersion(), next.GetResourceVersion())
}

func lacksFreshness(response *kubeconnectv1.WatchCountsResponse) string {
	if response.GetFreshness() == nil {
		return "the freshness is missing"
	}
	return ""
}

// countsJudge compares the counts of one call with the cluster.
type countsJudge struct {
	recording *CountsRecording
	evidence  Evidence
	held      *Counts
}

// tally is what is counted of some objects.
type tally struct {
	least, most int64
	sums        []*big.Rat // of the objects that are surely counted
}

// differences describes how the client's counts differ from the cluster at their version.
func (j *countsJudge) differences(response CountsResponse) string {
	if j.evidence.Writes == nil || j.held.Last == nil || isWaitingForCounts(response.Message) {
		return ""
	}
	total, groups := j.count(response)
	if problem := compareTally(total, j.held.Last.GetTotalCount(), j.held.Last.GetAggregates()); problem != "" {
		return "in total " + problem + " at version " + j.held.Last.GetResourceVersion()
	}
	keys := slices.Collect(maps.Keys(groups))
	for key := range j.held.Groups {
		if groups[key] == nil {
			groups[key], keys = j.newTally(), append(keys, key)
			groups[key].most += j.evidence.Writes.forgottenCount()
		}
	}
	if len(j.recording.GroupBy) == 0 {
		return ""
	}
	for _, key := range keys {
		if problem := compareTally(groups[key], j.held.Groups[key].GetCount(), j.held.Groups[key].GetAggregates()); problem != "" {
			return "of the group " + key + " " + problem + " at version " + j.held.Last.GetResourceVersion()
		}
	}
	return ""
}

// count returns what the cluster had at the version of the client's counts.
func (j *countsJudge) count(response CountsResponse) (total *tally, groups map[string]*tally) {
	judge := &pageJudge{
		recording: &PageRecording{Recording: Recording{Selection: j.recording.Selection}}, evidence: j.evidence, response: &Response{At: response.At},
	}
	total, groups = j.newTally(), make(map[string]*tally)
	for _, counted := range judge.candidates(j.held.Last.GetResourceVersion()) {
		var values []any
		for _, path := range j.recording.GroupBy {
			value, _ := memberOf(counted.Content, path...)
			values = append(values, value)
		}
		key := groupKey(values)
		if groups[key] == nil {
			groups[key] = j.newTally()
		}
		for _, of := range []*tally{total, groups[key]} {
			j.add(of, counted)
		}
	}
	for _, of := range groups {
		of.most += j.evidence.Writes.forgottenCount()
	}
	total.most += j.evidence.Writes.forgottenCount()
	return total, groups
}

func (j *countsJudge) newTally() *tally {
	t := &tally{}
	for range j.recording.Sums {
		t.sums = append(t.sums, new(big.Rat))
	}
	return t
}

func (j *countsJudge) add(to *tally, counted candidate) {
	to.most++
	if !counted.certain {
		return
	}
	to.least++
	for i, path := range j.recording.Sums {
		value, _ := memberOf(counted.Content, path...)
		if kind, quantity := kindOf(value); kind == quantities {
			if exact, ok := new(big.Rat).SetString(quantity.AsDec().String()); ok {
				to.sums[i].Add(to.sums[i], exact)
			}
		}
	}
}

// compareTally returns how a count and its sums differ. It judges sums only if all objects are known.
func compareTally(want *tally, count int64, results []*kubeconnectv1.AggregateResult) string {
	if count < want.least || count > want.most {
		return fmt.Sprintf("the count is %d, not %d to %d", count, want.least, want.most)
	}
	if want.least != want.most || count == 0 {
		return ""
	}
	for i, sum := range want.sums {
		got, ok := new(big.Rat), true
		if text := results[i].GetExact(); text != "" {
			got, ok = got.SetString(text)
		}
		if !ok || got.Cmp(sum) != 0 {
			return fmt.Sprintf("sum %d is %q, not %s", i, results[i].GetExact(), sum.RatString())
		}
	}
	return ""
}
