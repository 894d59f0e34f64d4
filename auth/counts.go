package auth

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ReviewStats counts the reviews of one kind since the start of the service.
type ReviewStats struct {
	// Requested is the number of reviews that were requested from the API server.
	Requested uint64 `json:"requested"`
	// Failed is the number of reviews without a decision: the API server returned an error, or was
	// not reachable in time.
	Failed uint64 `json:"failed"`
	// Rejected is the number of reviews that were rejected because the queue of their caller, of
	// their peer or of all was full.
	Rejected uint64 `json:"rejected"`
	// CacheHits is the number of decisions that were served from the cache.
	CacheHits uint64 `json:"cacheHits"`
	// Waiting is the number of reviews that wait for a slot now.
	Waiting int64 `json:"waiting"`
	// Waited is the time that all reviews have waited for their slot.
	Waited time.Duration `json:"waitedNanoseconds"`
	// FailingSince is the time since which the API server has given no decision; zero unless five
	// reviews in a row have failed, or all for ten seconds, and the last one within a minute. Problem
	// is then the reason.
	FailingSince time.Time `json:"failingSince,omitzero"`
	Problem      string    `json:"problem,omitempty"`
	// Unreachable reports that the reason is the connection: the API server has not got the last failed
	// review, or its connection was lost. Otherwise the API server gives no decision although it can be
	// reached.
	Unreachable bool `json:"unreachable,omitempty"`
	// DecidedAt is the time of the last decision of the API server; zero if there was none.
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	// Took is the time that all reviews have taken at the API server.
	Took time.Duration `json:"tookNanoseconds"`
}

// counts counts Reviews. Its methods are safe for concurrent use.
type counts struct {
	requested, failed, rejected, cacheHits atomic.Uint64
	waiting                                atomic.Int64
	waited, took                           atomic.Int64 // nanoseconds
}

func (c *counts) stats() ReviewStats {
	return ReviewStats{
		Requested: c.requested.Load(),
		Failed:    c.failed.Load(),
		Rejected:  c.rejected.Load(),
		CacheHits: c.cacheHits.Load(),
		Waiting:   c.waiting.Load(),
		Waited:    time.Duration(c.waited.Load()),
		Took:      time.Duration(c.took.Load()),
	}
}

// wait counts a review while it waits for its slot.
func (c *counts) wait(ctx context.Context, slot slot) error {
	began := time.Now()
	c.waiting.Add(1)
	defer func() {
		c.waiting.Add(-1)
		c.waited.Add(int64(time.Since(began)))
	}()
	return slot.wait(ctx)
}

// count records the outcome of a review.
func (c *counts) count(err error) {
	var blocked *blockedError
	switch {
	case errors.Is(err, errNoSlot):
		c.rejected.Add(1)
	case errors.Is(err, context.Canceled), errors.As(err, &blocked): // no caller waits for it any longer, or it was not sent
	case err != nil && !aboutTheQuestion(err):
		c.failed.Add(1)
	}
}

// ReviewStats returns the statistics of TokenReviews.
func (c *ClusterAuthenticator) ReviewStats() ReviewStats {
	if c.tokens == nil {
		return ReviewStats{}
	}
	return c.tokens.lookups.stats()
}

// ReviewStats returns the statistics of SubjectAccessReviews.
func (a *Authorizer) ReviewStats() ReviewStats { return a.reviews.lookups.stats() }

func (l *lookups[A]) stats() ReviewStats { return l.breaker.addTo(l.counts.stats()) }
