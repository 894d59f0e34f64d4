package access

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestAccessLease_StreamsOfACallerShareReviews keeps the leases of 40 streams of each of three callers
// for ten minutes. A decision is cached for ten seconds, so that a permission would need up to 60
// reviews if each stream was renewed at a time of its own.
func TestAccessLease_StreamsOfACallerShareReviews(t *testing.T) {
	const callers, lasts = 3, 10 * time.Minute
	for name, streams := range map[string]int{"one stream each": 1, "40 streams each": 40} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				permissions := &servertest.PermissionAPI{}
				leases := NewLeases(NewPermissions(permissions.InMemory(t), nil), 0)
				ctx, stop := context.WithTimeout(t.Context(), lasts)
				defer stop()
				var all sync.WaitGroup
				for i := range callers * streams {
					who := auth.Identity{Username: fmt.Sprint("caller-", i%callers)}
					caller := call.Caller{Identity: who, Authenticator: &servertest.FakeRights{Who: who}}
					all.Go(func() {
						time.Sleep(rand.N(20 * time.Second))
						lease, err := leases.Grant(call.WithCaller(ctx, caller), ToWatch(informerhub.Resource{Version: "v1", Name: "nodes"}, "", "", ""))
						for ; err == nil; err = lease.RenewUntilValid(ctx, func() error { return nil }) {
							if left := time.Until(lease.Due); left > defaultRecheck {
								t.Errorf("the lease is valid for %s", left)
							}
							period, cancel := lease.Period(ctx)
							<-period.Done()
							cancel()
							if ctx.Err() != nil {
								return
							}
						}
						t.Error(err)
					})
				}
				all.Wait()
				reviews := float64(permissions.Answered.Load()) / (2 * callers) / lasts.Minutes()
				if reviews < 3 || reviews > 4 {
					t.Errorf("%.1f reviews of a permission each minute", reviews)
				}
			})
		})
	}
}
