package validate

import (
	"fmt"

	"connectrpc.com/connect"
)

var tokenIsThere = check{
	guarantee: Resumable,
	name:      "a response has a token, unless the next one is the rest of it, or of latest states",
	broken: func(j *judge) string {
		if !j.model.Synced || j.response.Token != "" || j.next == nil || j.catchUp || j.restMayFollow() {
			return ""
		}
		return "it has none"
	},
}

// restMayFollow reports whether the next response may be the rest of this one. What the service
// finds in one step after the upstream has been away may come in parts, of a size that also
// counts what the caller does not see: other objects, and members that it did not ask for.
func (j *judge) restMayFollow() bool {
	isChange := len(j.response.Events) > 0 && isAboutObject(j.response.Events[len(j.response.Events)-1])
	return goesOn(j.response, j.next) || isChange && !j.evidence.EveryStep
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

// AsksForNothing tells whether a call has ended in a way that asks the caller to do
// nothing but call again: because it went itself, because the connection broke, or
// because the service said that it is not available.
func AsksForNothing(err error) bool {
	return err != nil && (!connect.IsWireError(err) || connect.CodeOf(err) == connect.CodeUnavailable)
}

var endsWithoutError = check{
	guarantee: Resumable,
	name:      "no call ends with an error that the caller must handle",
	broken: func(j *judge) string {
		switch {
		case j.call.Ended.IsZero():
			return ""
		case j.call.Err == nil:
			return "it ended as if all had been said"
		case !AsksForNothing(j.call.Err):
			return fmt.Sprintf("it ended with %v", j.call.Err)
		}
		return ""
	},
}
