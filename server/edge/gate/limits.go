package gate

import (
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Limits are the limits of each caller. 0 is no limit.
type Limits struct {
	// Streams is the number of streams that a caller can have open at a time. A stream of several
	// watches counts once for each watch.
	Streams int
	// CredentialStreams is the part of Streams that each credential of a caller can use, such as
	// each pod of a service account.
	CredentialStreams int
	// Rate is the number of calls that a caller can make each second, in the long run. Opening a
	// stream is a call.
	Rate int
	// Burst is the number of calls that a caller can make at once, after an idle time. It applies
	// if Rate is set, and is at least 1 then.
	Burst int
	// Calls is the number of calls, other than streams, that a caller can have running at a time.
	// Further calls wait for a few seconds.
	Calls int
}

// checkWatches returns a BadRequest error if one stream can never have this number of watches.
func (l Limits) checkWatches(watches int) error {
	for _, limit := range []struct {
		holder  string
		streams int
	}{{"caller", l.Streams}, {"credential", l.CredentialStreams}} {
		if limit.streams > 0 && watches > limit.streams {
			return apierror.BadRequest("%d watches and counts in one stream: a %s can have %d streams open, so another attempt fails too", watches, limit.holder, limit.streams)
		}
	}
	return nil
}

// Part returns the part of a capacity that one caller can use: capacity/part, or all of it if callers
// have no limits, because all calls then count as one caller.
func (l Limits) Part(capacity, part int64) int64 {
	if l == (Limits{}) {
		return capacity
	}
	return max(1, capacity/part)
}
