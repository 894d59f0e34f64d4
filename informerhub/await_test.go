package informerhub

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestAwaitChanges_WaitsForAResourceThatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		quiet time.Duration // since the last change
		next  time.Duration // until the next change, to the awaited version; 0 for none
		want  bool
		after time.Duration
	}{
		"the next change is in time":          {next: 300 * time.Millisecond, want: true, after: 300 * time.Millisecond},
		"the next change is late":             {next: 700 * time.Millisecond, after: 500 * time.Millisecond},
		"the resource has not changed lately": {quiet: 2 * quietAfter, next: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := podCache(1 << 20)
				must(t, c.Replace(items(pod(t, "a", 1)), "1"))
				must(t, c.Update(pod(t, "a", 2)))
				time.Sleep(test.quiet)
				began := time.Now()
				timer := time.AfterFunc(test.next, func() { _ = c.Update(pod(t, "a", 3)) })
				defer timer.Stop()
				reached, err := newCache(c.resource, c).AwaitChanges(t.Context(), "3", 500*time.Millisecond)
				if took := time.Since(began); err != nil || reached != test.want || took != test.after {
					t.Errorf("reached %t after %s, error %v; want %t after %s", reached, took, err, test.want, test.after)
				}
			})
		})
	}
}

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
