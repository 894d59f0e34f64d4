package auth

import (
	"errors"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestCluster_CountsTokenReviews(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterOptions{}, func(t *testing.T, cluster *Cluster) {
		for range 3 {
			_, _ = cluster.Authenticate(t.Context(), bearer("a"))
		}
		wantReviews(t, cluster.Reviews(), Reviews{Asked: 1, Remembered: 2})
		api.set(func() { api.fails = errors.New("refused") })
		_, _ = cluster.Authenticate(t.Context(), bearer("b"))
		wantReviews(t, cluster.Reviews(), Reviews{Asked: 2, Failed: 1, Remembered: 2})
	})
	wantReviews(t, Cluster{}.Reviews(), Reviews{})
}

func TestAuthorizer_CountsAccessReviews(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		for _, namespace := range []string{"a", "a", "b", "b"} {
			_, _ = a.Authorize(t.Context(), carol, in(namespace))
		}
		wantReviews(t, a.Reviews(), Reviews{Asked: 2, Remembered: 2})
	})
}

// TestAuthorizer_BadRequestIsNotCountedAsFailure is about requests that a caller can cause: they
// must not trigger alerts.
func TestAuthorizer_BadRequestIsNotCountedAsFailure(t *testing.T) {
	api := allowing("a")
	api.fails = apierrors.NewBadRequest("which?")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		_, _ = a.Authorize(t.Context(), carol, in("a"))
		wantReviews(t, a.Reviews(), Reviews{Asked: 1})
	})
}

// TestReviews_CountFailuresAndRejectionsSeparately runs more concurrent reviews of one caller than
// are allowed, at an API server that does not respond.
func TestReviews_CountFailuresAndRejectionsSeparately(t *testing.T) {
	api := allowing()
	api.takes = time.Hour
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		var all sync.WaitGroup
		for i := range maxLookupsOfCaller + 2 {
			all.Go(func() { _, _ = a.Authorize(t.Context(), carol, in(string(rune('a'+i)))) })
		}
		all.Wait()
		wantReviews(t, a.Reviews(), Reviews{Asked: maxLookupsOfCaller, Failed: maxLookupsOfCaller, TurnedAway: 2})
	})
}

func wantReviews(t *testing.T, got, want Reviews) {
	t.Helper()
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
