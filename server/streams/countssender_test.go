package streams

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
)

// TestWatchCounts_TheIntervalBeginsWhenAResponseIsSent has a connection that takes its time. Otherwise a
// response that was delayed is followed by the next one too soon.
func TestWatchCounts_TheIntervalBeginsWhenAResponseIsSent(t *testing.T) {
	s, ctx := watchesOn(t, servertest.PodsAPI(), servertest.NewFakeRights(auth.Namespaces{All: true}))
	plan, err := counts.NewPlan(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, open, end := s.streams.Begin(ctx, 1)
	defer end()
	var sent time.Time
	sender := &countsSender{
		memory: budget.Messages{Queue: fairqueue.New(fairqueue.Limits{Total: 1 << 20, Waiting: 1}), Caller: "jane"}, plan: plan, part: &streamlife.StreamPart{Stream: open},
		outlet: func(context.Context, *access.Lease, streamlife.Guard, *kubeconnectv1.WatchCountsResponse) error {
			sent = time.Now()
			return nil
		},
	}
	counted, err := s.startCounts(ctx, watchCountsParams{Selection: reads.Selection{Resource: "pods"}, plan: plan}, sender)
	if err != nil {
		t.Fatal(err)
	}
	defer counted.close()
	sender.attach(counted)
	if err := sender.send(ctx); err != nil {
		t.Fatal(err)
	}
	if sent.IsZero() || sender.changedAt.Before(sent) {
		t.Errorf("the interval begins at %v, and the response was sent at %v", sender.changedAt, sent)
	}
}

// TestWatchCounts_ChargesForTheGroupsThatTheClientHas has a caller that has memory for the counts, and for one stream
// of them.
func TestWatchCounts_ChargesForTheGroupsThatTheClientHas(t *testing.T) {
	s, ctx := watchesOn(t, servertest.PodsAPI(), servertest.NewFakeRights(auth.Namespaces{All: true}))
	path, err := mask.ParsePath("metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := counts.NewPlan([]mask.Path{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(ledger.Limits{Total: 1 << 20, Undivided: true})
	ctx, open, end := s.streams.Begin(ledger.With(ctx, l.Account("jane", "")), 1)
	defer end()
	start := func() (*countsSender, *liveCounts) {
		t.Helper()
		sender := &countsSender{
			memory: budget.Messages{Queue: fairqueue.New(fairqueue.Limits{Total: 1 << 20, Waiting: 1}), Caller: "jane"}, plan: plan, part: &streamlife.StreamPart{Stream: open},
			outlet: func(context.Context, *access.Lease, streamlife.Guard, *kubeconnectv1.WatchCountsResponse) error {
				return nil
			},
		}
		counted, err := s.startCounts(ctx, watchCountsParams{Selection: reads.Selection{Resource: "pods"}, plan: plan}, sender)
		if err != nil {
			t.Fatal(err)
		}
		sender.attach(counted)
		return sender, counted
	}
	sender, counted := start()
	before := l.Kept()["jane"]
	if err := sender.send(ctx); err != nil {
		t.Fatal(err)
	}
	charged := l.Kept()["jane"] - before
	if charged <= 0 {
		t.Error("nothing is charged for the groups that the client has")
	}
	all, err := l.Account("jane", "").Charge(1<<20 - l.Kept()["jane"])
	if err != nil {
		t.Fatal(err)
	}
	other, refused := start()
	if err := other.send(ctx); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a second stream without memory: %v", err)
	}
	refused.close()
	counted.close()
	all.Release()
	if kept := l.Kept()["jane"]; kept != before {
		t.Errorf("%d bytes are kept after the streams, want %d", kept, before)
	}
}

// TestStreams_BeginWithoutATurn has a turn of the caller's other streams that does not end. A stream begins with
// its first complete state nevertheless: the caller asks for it.
func TestStreams_BeginWithoutATurn(t *testing.T) {
	begun := errors.New("the client has the first complete state")
	for name, follow := range map[string]func(*testing.T, *Watches, context.Context, *streamlife.StreamPart) error{
		"page": func(t *testing.T, s *Watches, ctx context.Context, _ *streamlife.StreamPart) error {
			params, err := ParseWatch(&kubeconnectv1.WatchRequest{Resource: "pods", Limit: 1})
			if err != nil {
				return err
			}
			sender := s.newSender(ctx, params, nil, func(_ context.Context, _ *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
				if response.GetPage() != nil {
					return begun
				}
				return nil
			})
			watch, err := s.start(ctx, params, sender)
			if err != nil {
				return err
			}
			defer watch.close()
			return sender.attach(watch).follow(ctx)
		},
		"counts": func(t *testing.T, s *Watches, ctx context.Context, part *streamlife.StreamPart) error {
			plan, err := counts.NewPlan(nil, nil)
			if err != nil {
				return err
			}
			sender := &countsSender{
				memory: budget.Messages{Queue: fairqueue.New(fairqueue.Limits{Total: 1 << 20, Waiting: 1}), Caller: "jane"}, plan: plan, part: part,
				outlet: func(_ context.Context, _ *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchCountsResponse) error {
					if response.GetReset_() {
						return begun
					}
					return nil
				},
			}
			counted, err := s.startCounts(ctx, watchCountsParams{Selection: reads.Selection{Resource: "pods"}, plan: plan}, sender)
			if err != nil {
				return err
			}
			return sender.follow(ctx, counted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, ctx := watchesOn(t, servertest.PodsAPI(), servertest.NewFakeRights(auth.Namespaces{All: true}))
			ctx = fairqueue.WithPace(fairqueue.With(ctx, fairqueue.New(fairqueue.Limits{Total: 4}), "jane"), fairqueue.NewPace(0.5))
			endTurn, err := fairqueue.BeginTurn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer endTurn()
			ctx, open, end := s.streams.Begin(ctx, 1)
			defer end()
			if err := follow(t, s, ctx, &streamlife.StreamPart{Stream: open}); !errors.Is(err, begun) {
				t.Error("the stream has ended:", err)
			}
		})
	}
}
