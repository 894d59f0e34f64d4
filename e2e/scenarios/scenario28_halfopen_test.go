package scenarios_test

import (
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// A connection without traffic looks open. The stream must report that the API server is
// unreachable, the time of the last contact, and when it is reachable again.
func TestScenario28_HalfOpenLinkIsReportedAsStale(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)
	untilSays := func(stale bool, description string) {
		stream.Until(ctx, description, func(view *record.View) bool {
			return view.Freshness != nil && view.Freshness.GetStale() == stale
		})
	}
	untilSays(false, "the watch reports contact")

	link.Set(harness.Frozen)
	from := time.Now()
	missed := write.Create("missed", nil)
	untilSays(true, "the watch reports that the API server is unreachable")
	to := time.Now()
	link.Set(harness.None)
	untilSays(false, "the watch reports that the API server is reachable again")
	view := stream.Reaches(ctx, missed.ResourceVersion)

	kit.WantChanges(t, view, kit.Added(missed))
	recording := stream.Recording()
	kit.WantNoViolation(t, &recording, validate.Evidence{Outages: []validate.Outage{{From: from, To: to, Unnoticed: kit.UnnoticedOutage}}})
}
