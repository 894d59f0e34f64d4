package queries_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// liveCounts are counts of every kind. Their aggregates are sums, which package validate computes.
func liveCounts(namespace string) map[string]*kubeconnectv1.WatchCountsRequest {
	sums := func(paths ...string) (sums []*kubeconnectv1.Aggregate) {
		for _, path := range paths {
			sums = append(sums, &kubeconnectv1.Aggregate{Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM, Path: path})
		}
		return sums
	}
	return map[string]*kubeconnectv1.WatchCountsRequest{
		"the total":            {Aggregates: sums("spec.size")},
		"by a word":            {GroupBy: []string{"spec.color"}, Aggregates: sums("spec.size", "spec.rank")},
		"by values of kinds":   {GroupBy: []string{"spec.mixed"}, Aggregates: sums("spec.mixed")},
		"by several values":    {GroupBy: []string{"metadata.namespace", "metadata.labels.color", "spec.rank"}},
		"of a label":           {LabelSelector: "color=red", GroupBy: []string{"spec.color"}},
		"of a field":           {FieldSelector: "spec.color!=blue", GroupBy: []string{"spec.size"}, Aggregates: sums("spec.size")},
		"of a filter":          {Filter: `object.spec.color != "green"`, GroupBy: []string{"spec.color"}},
		"of a namespace, rare": {Namespace: namespace, GroupBy: []string{"metadata.name"}, MinInterval: durationpb.New(2 * time.Second)},
	}
}

// TestLiveCounts_AreThoseOfTheClusterWhateverHappens changes objects at random while clients follow
// counts at two replicas, of which one is restarted.
func TestLiveCounts_AreThoseOfTheClusterWhateverHappens(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	world := newLivePageWorld(ctx, t)
	stays, mortal := harness.StartService(t, kit.Cluster(t).Kubeconfig), harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	var clients []record.CountsClient
	for _, client := range kit.WatchClients(t, stays, mortal) {
		clients = append(clients, client.(record.CountsClient))
	}
	var followers []*record.CountsFollower
	for name, request := range liveCounts(world.namespaces[0]) {
		request.Resource = world.gadgets.Name()
		if request.GetMinInterval() == nil {
			request.MinInterval = durationpb.New(100 * time.Millisecond)
		}
		followers = append(followers, record.FollowCounts(t, name, request, clients...))
	}
	stop := world.churn(ctx)
	defer stop()
	kit.Eventually(ctx, t, "many changes are made", func() error { return world.wantWrites(liveCountsWrites) })
	restarted(t, mortal, (*harness.Service).Stop)
	kit.Eventually(ctx, t, "many more changes are made", func() error { return world.wantWrites(2 * liveCountsWrites) })
	stop()
	last, responses := world.settle(ctx, "last"), 0
	for _, follower := range followers {
		follower.Reaches(ctx, last)
		recording := follower.Stop()
		kit.WantCountsWithoutViolation(t, recording, validate.Evidence{Writes: world.writes})
		for _, call := range recording.Calls {
			responses += len(call.Responses)
		}
	}
	t.Logf("%d writes, %d responses", world.writes.Count(), responses)
}
