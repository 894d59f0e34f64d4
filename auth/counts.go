package auth

import (
	"context"
	"errors"
	"sync/atomic"
)

// Reviews is how often something about callers had to be known, since the service began.
type Reviews struct {
	// Asked is how many reviews the API server was asked for.
	Asked uint64
	// Failed is how many look-ups have brought no answer: the API server has failed, or could
	// not be reached in time.
	Failed uint64
	// TurnedAway is how many look-ups were not begun, because too many others of their
	// caller, of their peer or in all were before them.
	TurnedAway uint64
	// Remembered is how many answers were given from memory.
	Remembered uint64
}

// counts are Reviews while they are counted. Its methods are safe for concurrent use.
type counts struct{ asked, failed, turnedAway, remembered atomic.Uint64 }

func (c *counts) reviews() Reviews {
	return Reviews{Asked: c.asked.Load(), Failed: c.failed.Load(), TurnedAway: c.turnedAway.Load(), Remembered: c.remembered.Load()}
}

// count counts how a look-up has ended.
func (c *counts) count(err error) {
	switch {
	case errors.Is(err, errNoTurn):
		c.turnedAway.Add(1)
	case errors.Is(err, context.Canceled): // nobody waits for it any longer
	case err != nil && !aboutTheQuestion(err):
		c.failed.Add(1)
	}
}

// Reviews tells how often the cluster was asked who is calling, by TokenReview.
func (c Cluster) Reviews() Reviews {
	if c.tokens == nil {
		return Reviews{}
	}
	return c.tokens.lookups.counts.reviews()
}

// Reviews tells how often the cluster was asked what a caller may do, by
// SubjectAccessReview.
func (a *Authorizer) Reviews() Reviews { return a.reviews.lookups.counts.reviews() }
