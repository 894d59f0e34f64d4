package scenarios_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// A replica that was disconnected for too long learns of all missed changes in one step, and needs
// several responses to send them, because it does not know the versions of the deletions. A client
// may be disconnected after each response, and resume at a replica that knows them.
func TestScenario03_ResumeAfterAnOutageConvergesElsewhere(t *testing.T) {
	t.Parallel()
	const bigOnes = 4
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.CompactingCluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.CompactingCluster(t), namespace)
	away, link := kit.NewClientBehindProxy(t, kit.CompactingCluster(t), harness.None)
	another := kit.NewClient(t, kit.CompactingCluster(t))
	for i := range bigOnes {
		write.CreateBig(fmt.Sprintf("big-%d", i), web)
	}
	request, point, past := watchedPast(ctx, t, away, write)
	stream := record.Resume(t, away, request, point)
	kit.UntilRead(ctx, t, another, "configmaps", past.recreated)

	link.Set(harness.Refused)
	past.changeAll(write)
	last := past.removed
	for i := range bigOnes {
		last = write.Touch(fmt.Sprintf("big-%d", i), "meanwhile")
	}
	kit.UntilRead(ctx, t, another, "configmaps", last)
	kit.UntilCompacted(ctx, t, kit.CompactingCluster(t), past.version)
	link.Set(harness.None)

	want := past.held(write)
	view := kit.UntilHeld(ctx, stream, want)
	if view.Responses < 3 {
		t.Fatalf("everything was sent in %d responses", view.Responses)
	}
	for _, cut := range append([]record.Point{point}, view.Points...) {
		resumed := record.ResumeElsewhere(t, another, request, cut).Reaches(ctx, last.ResourceVersion)
		if got := kit.HeldVersions(resumed.Model); !maps.Equal(got, want) {
			t.Errorf("disconnected after %d events, the client has %v, want %v", len(cut.Events), got, want)
		}
	}
}
