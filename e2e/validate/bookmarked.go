package validate

import (
	"fmt"
	"time"
)

var neverSilent = check{
	guarantee: Bookmarked,
	name:      "a stream is never silent for long",
	broken: func(j *judge) string {
		if j.previous == nil {
			return "" // the call is waiting for its snapshot
		}
		return j.silence(j.previous.At, j.response.At)
	},
}

// reportsFreshness applies to a stream that is busy, and therefore never silent.
var reportsFreshness = check{
	guarantee: Bookmarked,
	name:      "a stream that has begun reports how current it is, and where it can be resumed",
	broken: func(j *judge) string {
		if j.freshAt.IsZero() || j.response.Freshness != nil {
			return ""
		}
		if j.silence(j.freshAt, j.response.At) == "" {
			return ""
		}
		return fmt.Sprintf("no freshness for %v", j.response.At.Sub(j.freshAt))
	},
}

var neverSilentAtTheEnd = check{
	guarantee: Bookmarked,
	name:      "a stream is not silent before it ends",
	broken: func(j *judge) string {
		if j.previous == nil || j.call.Ended.IsZero() {
			return ""
		}
		return j.silence(j.previous.At, j.call.Ended)
	},
}

// silence returns a problem if the time without a message was too long. A client that stalls cannot
// be judged.
func (j *judge) silence(from, to time.Time) string {
	silence, limit := to.Sub(from), j.evidence.Silence
	if limit == 0 || silence <= limit || j.recording.Stalled {
		return ""
	}
	return fmt.Sprintf("no message for %v before %s, at most %v allowed", silence, to.Format(time.TimeOnly), limit)
}
