package auth

import (
	"errors"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestClusterAuthenticator_CountsTokenReviews(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		for range 3 {
			_, _ = cluster.Authenticate(t.Context(), bearer("a"))
		}
		wantReviews(t, cluster.ReviewStats(), ReviewStats{Requested: 1, CacheHits: 2})
		api.set(func() { api.fails = errors.New("refused") })
		_, _ = cluster.Authenticate(t.Context(), bearer("b"))
		wantReviews(t, cluster.ReviewStats(), ReviewStats{Requested: 2, Failed: 1, CacheHits: 2})
	})
	wantReviews(t, (&ClusterAuthenticator{}).ReviewStats(), ReviewStats{})
}

func TestAuthorizer_CountsAccessReviews(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		for _, namespace := range []string{"a", "a", "b", "b"} {
			_, _ = a.Authorize(t.Context(), carol, in(namespace))
		}
		wantReviews(t, a.ReviewStats(), ReviewStats{Requested: 2, CacheHits: 2})
	})
}

// TestAuthorizer_BadRequestIsNotCountedAsFailure is about requests that a caller can cause: they
// must not trigger alerts.
func TestAuthorizer_BadRequestIsNotCountedAsFailure(t *testing.T) {
	api := allowing("a")
	api.fails = apierrors.NewBadRequest("which?")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		_, _ = a.Authorize(t.Context(), carol, in("a"))
		wantReviews(t, a.ReviewStats(), ReviewStats{Requested: 1})
	})
}

// TestReviewStats_CountFailuresAndRejectionsSeparately runs more concurrent reviews of one caller
// than are allowed, at an API server that does not respond.
func TestReviewStats_CountFailuresAndRejectionsSeparately(t *testing.T) {
	api := allowing()
	api.takes = time.Hour
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		var all sync.WaitGroup
		for i := range maxLookupsOfCaller + 2 {
			all.Go(func() { _, _ = a.Authorize(t.Context(), carol, in(string(rune('a'+i)))) })
		}
		all.Wait()
		wantReviews(t, a.ReviewStats(), ReviewStats{
			Requested: maxLookupsOfCaller, Failed: maxLookupsOfCaller, Rejected: 2,
			Waited: 2 * slotPatience, Took: maxLookupsOfCaller * lookupTimeout,
		})
	})
}

func wantReviews(t *testing.T, got, want ReviewStats) {
	t.Helper()
	got.DecidedAt, got.FailingSince, got.Problem = time.Time{}, time.Time{}, ""
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
