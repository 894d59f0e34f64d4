package queries_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// mostParts is the maximum number of watches and counts of a stream.
const mostParts = 100

// TestWatchMany_APartIsRejectedAsAWatchIs sends requests that are rejected as parts of one stream and as
// watches. "It is the Status of the error that a Watch or a WatchCounts would end with." "The stream ends
// with OK after the last of them has ended."
func TestWatchMany_APartIsRejectedAsAWatchIs(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	pods := kit.InNamespace("pods", "default")
	token := kit.LastPoint(t, record.Watch(t, client, pods).Synced(ctx)).Token
	requests := []*kubeconnectv1.WatchRequest{
		{},
		{Resource: "nonsense"},
		{Resource: "componentstatuses"},
		{Resource: "pods", Name: "one"},
		{Resource: "nodes", Namespace: "default"},
		{Resource: "pods", LabelSelector: "a in ("},
		{Resource: "pods", FieldSelector: "metadata.labels=a"},
		{Resource: "pods", Filter: "object.("},
		{Resource: "pods", Fields: []string{"["}},
		{Resource: "pods", PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON},
		{Resource: "pods", Limit: 501},
		{Resource: "pods", Limit: -1},
		{Resource: "pods", Limit: 1, Offset: -1},
		{Resource: "pods", Limit: 1, OrderBy: "metadata.name sideways"},
		{Resource: "pods", Limit: 1, After: &kubeconnectv1.ObjectName{Namespace: "default", Name: "nobody"}},
		{Resource: "pods", OrderBy: "metadata.name"},
		{Resource: "pods", MinResourceVersion: "latest"},
		{Resource: "pods", Related: &kubeconnectv1.Relation{}},
		{Resource: "pods", Namespace: "default", ResumeToken: "AQ"},
		{Resource: "pods", Namespace: "default", ResumeToken: token + "A"},
		{Resource: "pods", Namespace: "default", ResumeToken: token[:len(token)-4]},
		{Resource: "pods", ResumeToken: token},
		{Resource: "configmaps", Namespace: "default", ResumeToken: token},
		{Resource: "pods", Namespace: "default", LabelSelector: "a", ResumeToken: token},
		{Resource: "pods", Namespace: "default", Limit: 5, ResumeToken: token},
	}
	many := &kubeconnectv1.WatchManyRequest{Independent: true, Counts: []*kubeconnectv1.WatchCountsRequest{{Resource: "nonsense"}}}
	for _, request := range requests {
		token := request.GetResumeToken()
		request.ResumeToken = ""
		spec := harness.WatchSpecs(request)[0]
		request.ResumeToken, spec.OwnResumeToken = token, token
		many.Watches = append(many.Watches, spec)
	}
	rejected, err := rejectionsOf(ctx, client, many)
	if err != nil {
		t.Errorf("the stream ended with %v, want OK", err)
	}
	for i, request := range requests {
		err := kit.WatchError(ctx, client, request)
		if want := kit.StatusIn(err); want == nil || !proto.Equal(rejected[int32(i)], want) {
			t.Errorf("%v is rejected as a part with %v, and as a watch with %v (%v)", request, rejected[int32(i)], want, err)
		}
	}
	if counts := rejected[int32(len(requests))]; counts.GetReason() != "NotFound" {
		t.Errorf("the counts are rejected with %v", counts)
	}
}

// rejectionsOf returns the errors of all parts of a stream, by index, and the error of the stream.
func rejectionsOf(ctx context.Context, client kit.ResourceClient, request *kubeconnectv1.WatchManyRequest) (map[int32]*kubeconnectv1.Status, error) {
	stream, err := responses.Of(client.WatchMany(ctx, request))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	rejected := map[int32]*kubeconnectv1.Status{}
	for stream.Receive() {
		if status := stream.Msg().GetError(); status != nil {
			rejected[stream.Msg().GetWatchIndex()] = status
		}
	}
	return rejected, stream.Err()
}

// TestWatchMany_OneSelectionCanBeManyParts opens as many parts as a stream can have, all of one selection
// and with one token.
func TestWatchMany_OneSelectionCanBeManyParts(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	old := write.Create("old", kit.Labels{"counted": "yes"})
	selection := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "counted"}
	point := kit.LastPoint(t, record.Watch(t, client, selection).Synced(ctx))
	added := write.Create("new", kit.Labels{"counted": "yes"})
	var watches []*independentWatch
	for i := range mostParts - 1 { // and the counts
		watch := &independentWatch{spec: harness.WatchSpecs(selection)[0]}
		if i > 0 {
			watch.spec.OwnResumeToken = point.Token
			for _, event := range point.Events {
				watch.model.Apply(event)
			}
		}
		watches = append(watches, watch)
	}
	s := watchIndependently(ctx, t, client, watches...)
	holds := func(want kit.Versions) func() bool {
		return func() bool {
			for _, watch := range watches {
				if !watch.holds(want) {
					return false
				}
			}
			return true
		}
	}
	s.until("all parts have both objects", holds(kit.VersionsOf(old, added)))
	write.Delete("old")
	s.until("a deletion is delivered to all parts", holds(kit.VersionsOf(added)))
}

// TestWatchMany_IndependentRequestsAreChecked sends requests that are invalid as a whole.
func TestWatchMany_IndependentRequestsAreChecked(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	pods := &kubeconnectv1.WatchSpec{Resource: "pods", Namespace: "default"}
	token := kit.LastPoint(t, record.Watch(t, client, kit.InNamespace("pods", "default")).Synced(ctx)).Token
	resumed := proto.CloneOf(pods)
	resumed.OwnResumeToken = token
	large := &kubeconnectv1.WatchSpec{Resource: "pods", Limit: 500}
	many := make([]*kubeconnectv1.WatchSpec, mostParts)
	for i := range many {
		many[i] = pods
	}
	counts := []*kubeconnectv1.WatchCountsRequest{{Resource: "pods"}}
	for name, request := range map[string]*kubeconnectv1.WatchManyRequest{
		"nothing":                               {Independent: true},
		"too many parts":                        {Independent: true, Watches: many, Counts: counts},
		"one token for independent parts":       {Independent: true, Watches: []*kubeconnectv1.WatchSpec{pods}, ResumeToken: token},
		"own tokens of dependent parts":         {Watches: []*kubeconnectv1.WatchSpec{resumed}},
		"pages of too many objects":             {Independent: true, Watches: []*kubeconnectv1.WatchSpec{large, large, {Resource: "pods", Limit: 1}}},
		"pages of a negative number of objects": {Independent: true, Watches: []*kubeconnectv1.WatchSpec{large, large, {Resource: "pods", Limit: -500}, large}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := firstOfMany(ctx, client, request)
			kit.WantError(t, err, connect.CodeInvalidArgument)
		})
	}
}
