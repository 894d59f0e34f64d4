package validate

import (
	"errors"
	"fmt"

	"connectrpc.com/connect/v2"
)

var tokenIsPresent = check{
	guarantee: Resumable,
	name:      "a response has a token, unless the next one continues it or its latest states",
	broken: func(j *judge) string {
		if !j.model.Synced || j.response.Token != "" || j.next == nil || j.catchUp || j.restMayFollow() {
			return ""
		}
		return "it has no token"
	},
}

// restMayFollow reports whether the next response may continue this one. The changes that the
// service finds in one step after an outage may be sent in parts, whose size also counts what the
// client does not receive: other objects, and members that it did not request.
func (j *judge) restMayFollow() bool {
	isChange := len(j.response.Events) > 0 && isAboutObject(j.response.Events[len(j.response.Events)-1])
	return continuesResponse(j.response, j.next) || isChange && !j.evidence.EveryStep
}

var noTokenInSnapshot = check{
	guarantee: Resumable,
	name:      "a response within a snapshot has no token",
	broken: func(j *judge) string {
		if j.model.Synced || j.response.Token == "" {
			return ""
		}
		return "a client that resumes from its token would miss the rest"
	},
}

// AsksForNothing reports whether the error of a call requires nothing of the client but to call
// again: the client cancelled, the connection broke, or the service was not available.
func AsksForNothing(err error) bool {
	return err != nil && (!IsFromService(err) || connect.CodeOf(err) == connect.CodeUnavailable)
}

// IsFromService reports whether a service has sent the error, rather than the client or the connection.
func IsFromService(err error) bool {
	failure, ok := errors.AsType[*connect.Error](err)
	return ok && failure.IsRemote()
}

var endsWithoutError = check{
	guarantee: Resumable,
	name:      "no call ends with an error that the client must handle",
	broken: func(j *judge) string {
		switch {
		case j.call.Ended.IsZero():
			return ""
		case j.call.Err == nil:
			return "it ended with success"
		case !AsksForNothing(j.call.Err):
			return fmt.Sprintf("it ended with %v", j.call.Err)
		}
		return ""
	},
}
