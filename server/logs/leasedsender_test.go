package logs

import (
	"context"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// slowlyAway is a cluster whose reviews hang until their context ends, or fail at once.
type slowlyAway struct {
	*servertest.FakeRights
	hangs bool
}

func (a slowlyAway) Authorize(ctx context.Context, _ auth.Identity, _ auth.Attributes) (auth.Decision, error) {
	if a.hangs {
		<-ctx.Done()
		return auth.Decision{}, context.Cause(ctx)
	}
	return auth.Decision{}, apierrors.NewServiceUnavailable("away")
}

// TestLeasedSender_IsNotSilentWithoutReviews has a lease that is due and cannot be renewed for a minute, while something
// waits to be sent.
func TestLeasedSender_IsNotSilentWithoutReviews(t *testing.T) {
	for name, hangs := range map[string]bool{"reviews fail at once": false, "reviews hang": true} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				rights := slowlyAway{servertest.NewFakeRights(auth.Namespaces{All: true}), hangs}
				caller := call.Caller{Identity: rights.Who, Authenticator: rights, Header: http.Header{}}
				ctx, cancel := context.WithTimeout(call.WithCaller(t.Context(), caller), time.Minute)
				defer cancel()
				last, empty := time.Now(), 0
				sender := &leasedSender{unread: newUnreadLogs(), sendEmpty: func() error {
					if silence := time.Since(last); silence >= 10*time.Second {
						t.Errorf("silent for %v", silence)
					}
					last, empty = time.Now(), empty+1
					return nil
				}}
				sender.lease = access.NewLeases(access.NewPermissions(rights, nil), time.Hour).GrantUnreviewed(ctx, access.ToGetLog("default", "a"))
				rights.Change(func() {})
				err := sender.sendPermitted(ctx, 1, func() error {
					t.Error("something is sent without a valid lease")
					return nil
				})
				if ctx.Err() == nil || err == nil || empty < 6 || time.Since(last) >= 10*time.Second {
					t.Errorf("%d empty messages, the last one %v before the end, which is %v", empty, time.Since(last), err)
				}
			})
		})
	}
}
