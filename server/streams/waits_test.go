package streams

import (
	"context"
	"errors"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/follow"
)

// interruptedSource is the source of a stream whose permissions have changed.
type interruptedSource struct{ eventSource }

func (interruptedSource) NextUntil(context.Context, <-chan struct{}, *watchBatch) error {
	return informerhub.ErrInterrupted
}

// TestStreams_EndAtTheDeadlineAlsoWhenPermissionsChange lets the permissions change at the deadline of the client. What
// a stream of counts notices first is random.
func TestStreams_EndAtTheDeadlineAlsoWhenPermissionsChange(t *testing.T) {
	changed := make(chan struct{})
	close(changed)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	lease := &access.Lease{Changed: changed}
	events := &followedWatch{lease: lease, source: interruptedSource{}, cache: &informerhub.Cache{}}
	sender := new(eventSender)
	sender.attach(events)
	if err := sender.leased.followPeriod(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("events end with %v", err)
	}
	live := &liveCounts{lease: lease, follower: &follow.Follower[counts.PlanKey, *counts.State]{}}
	for range 100 {
		sender := &countsSender{sentAt: time.Now()}
		sender.attach(live)
		if err := sender.leased.followPeriod(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("counts end with %v", err)
		}
	}
}

// waitingSource is a source that waits for its turn all the time.
type waitingSource struct{ eventSource }

func (waitingSource) NextUntil(ctx context.Context, _ <-chan struct{}, _ *watchBatch) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestStreams_AreNotSilentWhileTheyWaitForTheirTurn lets a stream wait for a minute.
func TestStreams_AreNotSilentWhileTheyWaitForTheirTurn(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		last, contact := time.Now(), time.Now().Add(-time.Second)
		sent := 0
		s := &eventSender{delivered: &delivery{"10", "token"}, freshAt: last, lastContact: contact}
		s.outlet = func(_ context.Context, _ *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
			if silence := time.Since(last); silence >= 10*time.Second {
				t.Errorf("silent for %v", silence)
			}
			if response.GetResumeToken() != "token" || !response.GetFreshness().GetLastContactTime().AsTime().Equal(contact) {
				t.Errorf("sent %v", response)
			}
			last, sent = time.Now(), sent+1
			return nil
		}
		s.attach(&followedWatch{lease: &access.Lease{}, source: waitingSource{}, cache: &informerhub.Cache{}})
		err := s.leased.followPeriod(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || sent != 7 {
			t.Errorf("%d bookmarks, and ends with %v", sent, err)
		}
	})
}
