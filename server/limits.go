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
)

// Limits are how much each caller may ask for. 0 is no limit.
type Limits struct {
	// Streams is how many streams a caller may have open at a time. One of several
	// watches counts as many.
	Streams int
	// CredentialStreams is how many of them each credential of a caller may have, such as each pod of
	// a service account.
	CredentialStreams int
	// Rate is how many calls a caller may make each second, in the long run.
	// Opening a stream is a call.
	Rate int
	// Burst is how many calls a caller may make at once, after a quiet time. It is
	// for Rate, and at least 1 where there is one.
	Burst int
	// Calls is how many calls, other than streams, a caller may have under way at a time. Some
	// more wait for a few seconds.
	Calls int
}

const (
	// maxWaitingCalls is how many calls of one caller wait for others of it to end.
	maxWaitingCalls = 200
	// maxRequestsBytes bounds the requests that are received or decoded at a time, and
	// maxRequestsOfCaller those of one caller.
	maxRequestsBytes    = 64 << 20
	maxRequestsOfCaller = maxRequestsBytes / 4
)

// newCallQueue returns the turns of unary calls; nil for no limit.
func newCallQueue(perCaller int) *fairqueue.Queue {
	if perCaller == 0 {
		return nil
	}
	return fairqueue.New(fairqueue.Limits{Total: math.MaxInt64, PerKey: int64(perCaller), Waiting: maxWaitingCalls})
}

// newRequestQueue returns the bytes of requests.
func newRequestQueue() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxRequestsBytes, PerKey: maxRequestsOfCaller, Waiting: maxWaitingCalls})
}

// newProcessors returns the turns for longer work. One processor is left to short calls, where
// there are several.
func newProcessors() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: int64(max(1, runtime.GOMAXPROCS(0)-1))})
}

// callerOf is what the limits tell callers apart by: the user, whatever credential or
// pod it calls from, so that nobody has more by having many tokens.
func callerOf(identity auth.Identity) string { return identity.Username + "\x00" + identity.UID }

// limitError says that a caller is over a limit, and when to call again.
type limitError struct {
	over string
	wait time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s: call again in %d s, or ask the operator of this service for more", e.over, e.seconds())
}

// seconds is never 0, which would say that nothing is known.
func (e *limitError) seconds() int32 {
	return max(1, int32(math.Ceil(e.wait.Seconds())))
}

func (e *limitError) status() *kubeconnectv1.Status {
	status := ownStatus(metav1.StatusReasonTooManyRequests, e)
	status.RetryAfterSeconds = e.seconds()
	return status
}
