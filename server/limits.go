package server

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"connectrpc.com/connect"
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
	// Rate is how many calls a caller may make each second, in the long run.
	// Opening a stream is a call.
	Rate int
	// Burst is how many calls a caller may make at once, after a quiet time. It is
	// for Rate, and at least 1 where there is one.
	Burst int
}

// limitCallers refuses calls, unary and streaming alike, that are over the limits
// of their caller. It runs behind authenticate. The processors are shared among callers:
// longer work takes turns of processors (see [fairqueue.Begin]).
type limitCallers struct {
	callers    *callers
	processors *fairqueue.Queue
}

// newProcessors returns the turns for longer work. One processor is left to short calls, where
// there are several.
func newProcessors() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: int64(max(1, runtime.GOMAXPROCS(0)-1))})
}

// callerOf is what the limits tell callers apart by: the user, whatever credential or
// pod it calls from, so that nobody has more by having many tokens.
func callerOf(identity auth.Identity) string { return identity.Username + "\x00" + identity.UID }

// WrapUnary implements connect.Interceptor.
func (l limitCallers) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		name := callerOf(identityFrom(ctx))
		if err := l.callers.call(name); err != nil {
			return nil, err
		}
		return next(fairqueue.With(ctx, l.processors, name), request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (l limitCallers) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		name := callerOf(identityFrom(ctx))
		if err := l.callers.open(name); err != nil {
			return err
		}
		defer l.callers.close(name)
		return next(fairqueue.With(ctx, l.processors, name), conn)
	}
}

// WrapStreamingClient implements connect.Interceptor; this is a server.
func (l limitCallers) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

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
