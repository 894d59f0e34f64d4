package streams

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
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

// TestStreams_AreNotSilentWhileTheyWaitForTheirTurn lets a stream wait for a minute. A stream that has not sent all changes
// since its resume token does not report that it is current.
func TestStreams_AreNotSilentWhileTheyWaitForTheirTurn(t *testing.T) {
	for name, caughtUp := range map[string]bool{"after a bookmark": true, "within the changes since a token": false} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				last, contact := time.Now(), time.Now().Add(-time.Second)
				sent := 0
				s := new(eventSender)
				s.outlet = func(_ context.Context, _ *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
					if silence := time.Since(last); silence >= 10*time.Second {
						t.Errorf("silent for %v", silence)
					}
					if response.GetResumeToken() != "token" || !response.GetFreshness().GetLastContactTime().AsTime().Equal(contact) {
						t.Errorf("sent %v", response)
					}
					if !caughtUp && !response.GetFreshness().GetStale() {
						t.Errorf("is current: %v", response)
					}
					last, sent = time.Now(), sent+1
					return nil
				}
				s.attach(&followedWatch{lease: &access.Lease{}, source: waitingSource{}, cache: &informerhub.Cache{}})
				s.delivered, s.caughtUp, s.markAt, s.lastContact = &delivery{"10", "token"}, caughtUp, last, contact
				err := s.leased.followPeriod(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || sent != 7 {
					t.Errorf("%d bookmarks, and ends with %v", sent, err)
				}
			})
		})
	}
}

// quietSource is a source without batches.
type quietSource struct{ eventSource }

func (quietSource) RequestBookmark() {}

// TestRepeat_HasNothingOfWhatWasNotSent has a message that cannot be sent, because the lease is due. What is repeated
// meanwhile is sent without a lease.
func TestRepeat_HasNothingOfWhatWasNotSent(t *testing.T) {
	const warning = "the filter has no value for default/secret"
	t.Run("of events", func(t *testing.T) {
		var sent []*kubeconnectv1.WatchResponse
		s := new(eventSender)
		s.outlet = func(_ context.Context, lease *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
			if lease != nil {
				return access.ErrDue
			}
			sent = append(sent, proto.CloneOf(response))
			return nil
		}
		s.attach(&followedWatch{lease: &access.Lease{}, source: quietSource{}, cache: &informerhub.Cache{}})
		s.delivered = &delivery{"10", "token"}
		s.response.Warnings = []string{"covers 1 namespace"}
		s.response.Page = &kubeconnectv1.PageState{TotalCount: 42}
		if err := s.sendEncoded(t.Context(), s.watch.lease, streamlife.Guard{}, encode.Bookmark("11", "newer"), []string{warning}); !errors.Is(err, access.ErrDue) {
			t.Fatal(err)
		}
		if err := s.repeat(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if len(sent) != 1 || sent[0].GetPage() != nil || sent[0].GetResumeToken() != "token" || !slices.Equal(sent[0].GetWarnings(), []string{"covers 1 namespace"}) {
			t.Errorf("sent %v", sent)
		}
	})
	t.Run("of counts", func(t *testing.T) {
		plan, err := counts.NewPlan(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var sent []*kubeconnectv1.WatchCountsResponse
		s := &countsSender{plan: plan, outlet: func(_ context.Context, _ *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchCountsResponse) error {
			sent = append(sent, proto.CloneOf(response))
			return nil
		}}
		s.counted = &liveCounts{at: follow.Moment{Epoch: 1, Warnings: []string{warning}}}
		if err := s.repeat(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if len(sent) != 1 || len(sent[0].GetWarnings()) > 0 {
			t.Errorf("sent %v", sent)
		}
	})
}
