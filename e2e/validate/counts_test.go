package validate

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/structpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// countOf returns a group of a rank, or of no rank, with the sum of the ranks.
func countOf(rank float64, count int64, sum string) *kubeconnectv1.ObjectGroup {
	return &kubeconnectv1.ObjectGroup{Values: []*structpb.Value{structpb.NewNumberValue(rank)}, Count: count, Aggregates: sumOf(sum)}
}

func sumOf(exact string) []*kubeconnectv1.AggregateResult {
	return []*kubeconnectv1.AggregateResult{{Exact: exact}}
}

// correctCounts returns a recording of rankedHistory, grouped by the rank, without a fault.
func correctCounts() *CountsRecording {
	response := func(seconds int, reset bool, total int64, sum, version string, groups ...*kubeconnectv1.ObjectGroup) CountsResponse {
		return CountsResponse{At: second(seconds), Message: &kubeconnectv1.WatchCountsResponse{
			Reset_: reset, TotalCount: total, Aggregates: sumOf(sum), ResourceVersion: version, Groups: groups, Freshness: &kubeconnectv1.Freshness{},
		}}
	}
	rank := [][]string{{"spec", "rank"}}
	return &CountsRecording{Selection: web, GroupBy: rank, Sums: rank, Calls: []CountsCall{{
		Ended: second(20), Err: connect.NewError(connect.CodeCanceled, "cancelled by the test"),
		Responses: []CountsResponse{
			{At: began, Message: &kubeconnectv1.WatchCountsResponse{Freshness: &kubeconnectv1.Freshness{Stale: true}}},
			response(1, true, 4, "11", "5", countOf(1, 1, "1"), countOf(2, 1, "2"), countOf(3, 1, "3"), countOf(5, 1, "5")),
			response(2, false, 4, "13", "8", countOf(2, 0, ""), countOf(4, 1, "4")),
			response(3, false, 3, "10", "9", countOf(3, 0, "")),
		},
	}}}
}

func TestCountsRecording_CorrectOneHasNoViolations(t *testing.T) {
	for name, evidence := range map[string]Evidence{"with evidence": {Writes: rankedHistory()}, "without evidence": {}} {
		t.Run(name, func(t *testing.T) {
			for _, violation := range correctCounts().Violations(evidence) {
				t.Error(violation)
			}
		})
	}
}

func TestCountsRecording_FaultsAreViolations(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(call *CountsCall)
		want string
	}{
		"no reset first":          {func(call *CountsCall) { call.Responses[1].Message.Reset_ = false }, "the first response has no reset"},
		"an older version":        {func(call *CountsCall) { call.Responses[3].Message.ResourceVersion = "4" }, "never decreases without a reset"},
		"no freshness":            {func(call *CountsCall) { call.Responses[2].Message.Freshness = nil }, "freshness"},
		"another total":           {func(call *CountsCall) { call.Responses[3].Message.TotalCount = 4 }, "in total the count is 4, not 3 to 3"},
		"another sum of all":      {func(call *CountsCall) { call.Responses[2].Message.Aggregates[0].Exact = "12" }, `in total sum 0 is "12", not 13`},
		"a group that stays":      {func(call *CountsCall) { call.Responses[3].Message.Groups = nil }, "of the group [3]"},
		"a group that is missing": {func(call *CountsCall) { call.Responses[2].Message.Groups = call.Responses[2].Message.Groups[:1] }, "of the group [4]"},
		"another sum of a group":  {func(call *CountsCall) { call.Responses[2].Message.Groups[1].Aggregates[0].Exact = "0.4" }, "of the group [4] sum 0"},
		"a group without a change": {func(call *CountsCall) {
			call.Responses[2].Message.Groups = append(call.Responses[2].Message.Groups, countOf(1, 1, "1"))
		}, "the client has the group [1] with these numbers"},
		"a removed group that was not sent": {func(call *CountsCall) {
			call.Responses[3].Message.Groups = append(call.Responses[3].Message.Groups, countOf(7, 0, ""))
		}, "the client has no group [7]"},
		"an error for the client":   {func(call *CountsCall) { call.Err = connect.NewError(connect.CodeInternal, "fault").WithRemote() }, "it ended with"},
		"an end without any reason": {func(call *CountsCall) { call.Err = nil }, "it ended with success"},
	} {
		t.Run(name, func(t *testing.T) {
			recording := correctCounts()
			test.edit(&recording.Calls[0])
			var found []string
			for _, violation := range recording.Violations(Evidence{Writes: rankedHistory()}) {
				found = append(found, violation.String())
			}
			if !strings.Contains(strings.Join(found, "\n"), test.want) {
				t.Errorf("violations %q, want one of %q", found, test.want)
			}
		})
	}
}
