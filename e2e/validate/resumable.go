package validate

import (
	"fmt"
	"slices"

	"connectrpc.com/connect"
)

var tokenIsThere = check{
	guarantee: Resumable,
	name:      "a response outside a snapshot has a token",
	broken: func(j *judge) string {
		if !j.model.Synced || j.response.Token != "" || j.isAmidCatchUp() || j.isBetweenChangesOfOneVersion() {
			return ""
		}
		return "it has none"
	},
}

// isBetweenChangesOfOneVersion tells whether the next response goes on with another
// change at the same version: a deletion, and what was made in its place.
func (j *judge) isBetweenChangesOfOneVersion() bool {
	if j.next == nil || len(j.next.Events) == 0 {
		return true // not known
	}
	return j.next.Events[0].GetResourceVersion() == j.response.last().GetResourceVersion()
}

var noTokenInSnapshot = check{
	guarantee: Resumable,
	name:      "a response within a snapshot has no token",
	broken: func(j *judge) string {
		if j.model.Synced || j.response.Token == "" {
			return ""
		}
		return "whoever goes on from its token would miss the rest"
	},
}

// ends are how a call may end: because the caller goes or does not get through, or
// because the service goes. None of it asks the caller to do anything but call again.
var ends = []connect.Code{connect.CodeCanceled, connect.CodeUnavailable}

var endsWithoutError = check{
	guarantee: Resumable,
	name:      "no call ends with an error that the caller must handle",
	broken: func(j *judge) string {
		switch {
		case j.call.Ended.IsZero():
			return ""
		case j.call.Err == nil:
			return "it ended as if all had been said"
		case !slices.Contains(ends, connect.CodeOf(j.call.Err)):
			return fmt.Sprintf("it ended with %v", j.call.Err)
		}
		return ""
	},
}
