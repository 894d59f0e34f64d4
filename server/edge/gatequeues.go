package edge

import (
	"math"
	"runtime"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxWaitingCalls bounds the waiting calls of one caller.
	maxWaitingCalls = 200
	// maxRequestsBytes bounds the requests that are received or decoded at a time, and
	// maxRequestsOfCaller those of one caller.
	maxRequestsBytes    = 64 << 20
	maxRequestsOfCaller = maxRequestsBytes / 4
)

// newCallQueue returns the queue for slots of unary calls, or nil without a limit.
func newCallQueue(perCaller int) *fairqueue.Queue {
	if perCaller == 0 {
		return nil
	}
	return fairqueue.New(fairqueue.Limits{Total: math.MaxInt64, PerKey: int64(perCaller), Waiting: maxWaitingCalls})
}

// newRequestQueue returns the queue for the bytes of requests.
func newRequestQueue() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxRequestsBytes, PerKey: maxRequestsOfCaller, Waiting: maxWaitingCalls})
}

// newProcessors returns the queue for processor slots of longer work. One processor is reserved for
// short calls if there are several.
func newProcessors() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: int64(max(1, runtime.GOMAXPROCS(0)-1))})
}
