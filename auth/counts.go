package auth

import (
	"context"
	"errors"
	"sync/atomic"
)

// Reviews counts the reviews of one kind since the start of the service.
type Reviews struct {
	// Asked is the number of reviews that were requested from the API server.
	Asked uint64
	// Failed is the number of reviews without a decision: the API server returned an error, or was
	// not reachable in time.
	Failed uint64
	// TurnedAway is the number of reviews that were rejected because the queue of their caller, of
	// their peer or of all was full.
	TurnedAway uint64
	// Remembered is the number of decisions that were served from the cache.
	Remembered uint64
}

// counts counts Reviews. Its methods are safe for concurrent use.
type counts struct{ asked, failed, turnedAway, remembered atomic.Uint64 }

func (c *counts) reviews() Reviews {
	return Reviews{
		Asked:      c.asked.Load(),
		Failed:     c.failed.Load(),
		TurnedAway: c.turnedAway.Load(),
		Remembered: c.remembered.Load(),
	}
}

// count records the outcome of a review.
func (c *counts) count(err error) {
	switch {
	case errors.Is(err, errNoSlot):
		c.turnedAway.Add(1)
	case errors.Is(err, context.Canceled): // no caller waits for it any longer
	case err != nil && !aboutTheQuestion(err):
		c.failed.Add(1)
	}
}

// Reviews returns the statistics of TokenReviews.
func (c Cluster) Reviews() Reviews {
	if c.tokens == nil {
		return Reviews{}
	}
	return c.tokens.lookups.counts.reviews()
}

// Reviews returns the statistics of SubjectAccessReviews.
func (a *Authorizer) Reviews() Reviews { return a.reviews.lookups.counts.reviews() }
