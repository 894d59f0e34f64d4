package validate

import (
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// isOfWaitingStream reports whether a response is a BOOKMARK without a version: the stream waits for
// the service's first snapshot, at the beginning of a call or when the resource was recreated, or
// for a version that the service has not reached.
func (r *Response) isOfWaitingStream() bool {
	return len(r.Events) == 1 && isWaiting(r.Events[0])
}

func isWaiting(event *kubeconnectv1.Event) bool {
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && event.GetResourceVersion() == ""
}

// waitingIsStaleWithoutSnapshot allows a stream that waits for a version to be current: its cache is
// complete up to an earlier version.
var waitingIsStaleWithoutSnapshot = check{
	guarantee: Fresh,
	name:      "a stream that waits without having contacted the API server is stale",
	broken: func(j *judge) string {
		if !j.response.Freshness.GetStale() && j.response.Freshness.GetLastContactTime() == nil {
			return "it is neither marked stale, nor has it a time of contact"
		}
		return ""
	},
}

var waitingKeepsTheToken = check{
	guarantee: Resumable,
	name:      "a call that waits returns the client's token",
	broken: func(j *judge) string {
		if j.previous == nil && j.response.Token != j.call.Token {
			return "it has another token"
		}
		return ""
	},
}
