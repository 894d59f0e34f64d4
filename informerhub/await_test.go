package informerhub

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestReady_FailsAfterAWhileWithTheLastErrorOfTheAPIServer(t *testing.T) {
	failure := apierrors.NewInternalError(errors.New("the conversion webhook is down"))
	for name, test := range map[string]struct {
		before func(*scopeCache)
		want   string
		after  time.Duration
	}{
		"nothing is sent": {
			func(*scopeCache) {},
			"the service has no snapshot of pods yet: the API server has not sent all of it; try again, and if this lasts ask the operator of the service",
			defaultSnapshotTimeout,
		},
		"the last attempt is under way, and one before it has failed": {
			func(c *scopeCache) { c.recordFailure(failure); c.recordSuccess() },
			"the service has no snapshot of pods yet: " + failure.Error() + "; try again, and if this lasts ask the operator of the service",
			defaultSnapshotTimeout,
		},
		"the last attempt has failed": {
			func(c *scopeCache) { c.recordFailure(failure) },
			"the service has no snapshot of pods yet: " + failure.Error() + "; try again, and if this lasts ask the operator of the service",
			0,
		},
		"the API server asks to wait for longer than the caller can": {
			func(c *scopeCache) {
				c.recordThrottling(failure, time.Now().Add(defaultSnapshotTimeout+1500*time.Millisecond))
			},
			"the service has no snapshot of pods yet: " + failure.Error() + "; try again in 12 s, and if this lasts ask the operator of the service",
			0,
		},
		"the API server asks to wait, and then sends nothing": {
			func(c *scopeCache) { c.recordThrottling(failure, time.Now().Add(defaultSnapshotTimeout-time.Second)) },
			"the service has no snapshot of pods yet: " + failure.Error() + "; try again, and if this lasts ask the operator of the service",
			defaultSnapshotTimeout,
		},
		"the API server asks to wait, and then fails": {
			func(c *scopeCache) {
				c.recordThrottling(failure, time.Now().Add(time.Second))
				c.recordFailure(failure)
			},
			"the service has no snapshot of pods yet: " + failure.Error() + "; try again, and if this lasts ask the operator of the service",
			0,
		},
		"the service may not list": {
			func(c *scopeCache) {
				c.recordFailure(apierrors.NewForbidden(pods.GroupResource(), "", errors.New(`User "service" cannot list`)))
			},
			"the service is not allowed to list pods: its operator can grant it, by the commands that kubeconnect check prints",
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := newScopeCache(pods, defaultLimits(defaultWindowBytes), &activity{})
				test.before(c)
				began := time.Now()
				err := c.Ready(t.Context())
				var snapshot *SnapshotError
				if !errors.As(err, &snapshot) || err.Error() != test.want || time.Since(began) != test.after {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
			})
		})
	}
}
