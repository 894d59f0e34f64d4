package streams

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// waitingAfter is the time without messages after which a stream reports that it waits for a first
// snapshot or for a version, so that the client sees that the service is reachable.
const waitingAfter = time.Second

// waitingStream is a stream that waits for the first snapshot of its resource, or for a version.
//
// Two goroutines use it. begin starts the stream in a goroutine of its own, and the goroutine of the handler sends messages
// meanwhile. begin stores the cache as soon as it has one, and the messages only read it. begin can add reads of related
// objects to the lease. The messages read only its Request and its Scope, which do not change before the first renewal.
type waitingStream struct {
	lease *access.Lease
	cache atomic.Pointer[informerhub.Cache] // nil before the first snapshot
}

// waitingWatch is a watch that waits.
type waitingWatch struct {
	waitingStream
	params WatchParams
}

// freshness returns how current the cache is; stale before the first snapshot.
func (s *waitingStream) freshness() *kubeconnectv1.Freshness {
	if cache := s.cache.Load(); cache != nil {
		return encode.Freshness(cache.Freshness())
	}
	return &kubeconnectv1.Freshness{Stale: true}
}

// begun is the result of starting a stream. Exactly one is delivered, also after a panic.
type begun[S any] struct {
	started  S
	err      error
	panicked any // what begin has panicked with; nil if it has returned
}

// whileWaiting calls begin, and sendWaiting at an interval until begin returns. If sendWaiting fails,
// whileWaiting closes what begin returns. A panic of begin continues in the goroutine of the call: there it
// ends this call, and not the replica.
//
// whileWaiting returns only after begin has returned, so that no goroutine outlives the call, and what begin has
// started has exactly one owner. begin uses the context of the stream, which ends it when the client has disconnected.
//
// sendWaiting is not called under a lease: it sends nothing that depends on objects. The lease is not renewed meanwhile, and
// can be due when begin returns; leasedStream.follow renews it before anything else is sent.
func whileWaiting[S interface{ close() }](ctx context.Context, sendWaiting func(context.Context) error, begin func() (S, error)) (S, error) {
	done := make(chan begun[S], 1) // with room for the result, so that the goroutine never blocks
	go func() {                    // ends with begin, which whileWaiting waits for
		var b begun[S]
		defer func() {
			if b.panicked = recover(); b.panicked != nil {
				b.panicked = fmt.Sprintf("%v\n%s", b.panicked, debug.Stack())
			}
			done <- b
		}()
		b.started, b.err = begin()
	}()

	// Most streams start within waitingAfter, and send no such message.
	quiet := time.NewTimer(waitingAfter)
	defer quiet.Stop()
	for {
		select {
		case b := <-done:
			if b.panicked != nil {
				panic(b.panicked)
			}
			return b.started, b.err
		case <-quiet.C:
		}
		if err := sendWaiting(ctx); err != nil {
			// Nobody else knows what begin has started: without close, its cache or follower would never be released.
			if b := <-done; b.err == nil && b.panicked == nil {
				b.started.close()
			}
			var none S
			return none, err
		}
		quiet.Reset(BookmarkInterval)
	}
}
