package auth

import "sync/atomic"

// Reviews is how often something about callers had to be known, since the service began.
type Reviews struct {
	// Asked is how many reviews the API server was asked for.
	Asked uint64
	// Failed is how many look-ups have brought no answer: the API server has failed, could
	// not be reached in time, or has let others wait so long that there was no turn.
	Failed uint64
	// Remembered is how many answers were given from memory.
	Remembered uint64
}

// counts are Reviews while they are counted. Its methods are safe for concurrent use.
type counts struct{ asked, failed, remembered atomic.Uint64 }

func (c *counts) reviews() Reviews {
	return Reviews{Asked: c.asked.Load(), Failed: c.failed.Load(), Remembered: c.remembered.Load()}
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
