package health

import (
	"fmt"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// ReviewSource returns the statistics of reviews of callers. An auth.ClusterAuthenticator and an
// auth.Authorizer implement it.
type ReviewSource interface{ ReviewStats() auth.ReviewStats }

// Reviews are the sources of the statistics of reviews, by the kind of review.
type Reviews map[string]ReviewSource

// Failing returns the kind of the reviews that have failed for the longest time, and their statistics.
// The kind is empty if the API server answers all.
func (r Reviews) Failing() (kind string, failing auth.ReviewStats) {
	for review, source := range r {
		stats := source.ReviewStats()
		if !stats.FailingSince.IsZero() && (kind == "" || stats.FailingSince.Before(failing.FailingSince)) {
			kind, failing = review, stats
		}
	}
	return kind, failing
}

// Err returns an error that describes why the API server answers no reviews of callers, or nil.
func (r Reviews) Err() error {
	kind, stats := r.Failing()
	if kind == "" {
		return nil
	}
	return fmt.Errorf("%ss of callers have failed since %s: %s", kind, stats.FailingSince.UTC().Format(time.RFC3339), stats.Problem)
}

// CacheSource returns the status of the caches; informerhub's Hub implements it.
type CacheSource interface{ Status() []informerhub.Status }
