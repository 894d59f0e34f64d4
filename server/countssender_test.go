package server

import (
	"context"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge"
)

// TestWatchCounts_TheIntervalBeginsWhenAResponseIsSent has a connection that takes its time. Otherwise a
// response that was delayed is followed by the next one too soon.
func TestWatchCounts_TheIntervalBeginsWhenAResponseIsSent(t *testing.T) {
	s, ctx := directly(t, podsAPI(), newFakeRights(auth.Namespaces{All: true}))
	plan, err := counts.NewPlan(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, open, end := s.streams.Begin(ctx, 1)
	defer end()
	var sent time.Time
	sender := &countsSender{
		memory: sendMemory{fairqueue.New(fairqueue.Limits{Total: 1 << 20, Waiting: 1}), "jane"}, plan: plan, part: &edge.StreamPart{Stream: open},
		outlet: func(context.Context, *accessLease, edge.Guard, *kubeconnectv1.WatchCountsResponse) error {
			sent = time.Now()
			return nil
		},
	}
	counted, err := s.startCounts(ctx, watchCountsParams{selectionParams: selectionParams{resource: "pods"}, plan: plan}, sender)
	if err != nil {
		t.Fatal(err)
	}
	defer counted.close()
	if err := sender.sendNext(ctx, counted); err != nil {
		t.Fatal(err)
	}
	if sent.IsZero() || sender.changedAt.Before(sent) {
		t.Errorf("the interval begins at %v, and the response was sent at %v", sender.changedAt, sent)
	}
}
