package server

import (
	"fmt"
	"math"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/encode"
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

// callerOf returns the key by which limits distinguish callers: the user, whichever credential or
// pod it calls from. A user with many tokens therefore has no higher limits.
func callerOf(identity auth.Identity) string { return identity.Username + "\x00" + identity.UID }

// limitError reports that a caller is over a limit, and when to retry.
type limitError struct {
	over string
	wait time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s; retry in %d s, or ask the operator of this service for a higher limit", e.over, e.seconds())
}

// seconds returns the retry time, at least 1: 0 would mean that it is unknown.
func (e *limitError) seconds() int32 {
	return max(1, int32(math.Ceil(e.wait.Seconds())))
}

func (e *limitError) status() *kubeconnectv1.Status {
	status := encode.ErrorStatus(metav1.StatusReasonTooManyRequests, e)
	status.RetryAfterSeconds = e.seconds()
	return status
}
