package validate

import (
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// isWaitingForSnapshot reports whether a response is a BOOKMARK without a version: the stream waits
// for the service's first snapshot, at the beginning of a call or when the resource was recreated.
func (r *Response) isWaitingForSnapshot() bool {
	return len(r.Events) == 1 && isWaiting(r.Events[0])
}

func isWaiting(event *kubeconnectv1.Event) bool {
	return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && event.GetResourceVersion() == ""
}

var waitingIsStale = check{
	guarantee: Fresh,
	name:      "a stream that waits for a first snapshot is stale",
	broken: func(j *judge) string {
		if !j.response.Freshness.GetStale() {
			return "it is not marked stale"
		}
		return ""
	},
}

var waitingKeepsTheToken = check{
	guarantee: Resumable,
	name:      "a call that waits for a first snapshot returns the client's token",
	broken: func(j *judge) string {
		if j.previous == nil && j.response.Token != j.call.Token {
			return "it has another token"
		}
		return ""
	},
}
