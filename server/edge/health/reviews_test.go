package health

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
)

func TestReviews_ErrNamesTheCause(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	reviews := Reviews{"TokenReview": fixedReviews{}, "SubjectAccessReview": fixedReviews{}}
	if err := reviews.Err(); err != nil {
		t.Error(err)
	}
	reviews["SubjectAccessReview"] = fixedReviews{FailingSince: since, Problem: "the API server returns InternalError (500)"}
	const want = "SubjectAccessReviews of callers have failed since 2026-01-02T03:04:05Z: the API server returns InternalError (500)"
	if err := reviews.Err(); err == nil || err.Error() != want {
		t.Errorf("returned %v, want %s", err, want)
	}
}

// fixedReviews are reviews with the same statistics each time.
type fixedReviews auth.ReviewStats

func (f fixedReviews) ReviewStats() auth.ReviewStats { return auth.ReviewStats(f) }
