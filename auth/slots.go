package auth

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxLookups bounds the concurrent reviews of one kind, in addition to those of unknown tokens
	// and those of open streams. Further ones wait.
	maxLookups = 64
	// maxLookupsOfCaller bounds the concurrent reviews of one caller, so that others get a slot.
	maxLookupsOfCaller = 16
	// maxQuestionsWaiting bounds the waiting reviews of one caller. Each is a goroutine.
	maxQuestionsWaiting = 1024
	// maxRechecksWaiting bounds the waiting reviews of one caller's open streams.
	maxRechecksWaiting = 4096
	// slotPatience is how long a review waits for a slot; it has a separate time for its decision.
	// Reviews of open streams wait for as long as the stream does.
	slotPatience = 5 * time.Second
)

// slot is the permission to run one review.
type slot interface {
	// wait blocks until the review has a slot. It returns errNoSlot if the queue is full or the
	// wait took too long.
	wait(ctx context.Context) error
	// end releases the slot.
	end()
	// caller identifies the caller that is reviewed; empty if it is not known.
	caller() string
	// keepsWaiting reports whether the review continues to wait when no caller waits for its
	// result.
	keepsWaiting() bool
}

// fairSlots shares the slots for reviews fairly among callers. Reviews of open streams have slots
// of their own: they do not wait behind new questions.
type fairSlots struct{ questions, rechecks *fairqueue.Queue }

func newFairSlots() fairSlots {
	return fairSlots{
		questions: newFairQueue(maxQuestionsWaiting),
		rechecks:  newFairQueue(maxRechecksWaiting),
	}
}

// newFairQueue returns a queue of one kind of reviews.
func newFairQueue(waiting int) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other reviews", Total: maxLookups, PerKey: maxLookupsOfCaller, Waiting: waiting})
}

// slotFor returns the slot of one caller's review.
func (s fairSlots) slotFor(ctx context.Context, caller Key) slot {
	if isRecheck(ctx) {
		return &fairSlot{queue: s.rechecks, key: string(caller[:])}
	}
	return &fairSlot{queue: s.questions, key: string(caller[:]), patience: slotPatience}
}

// fairSlot is a slot in a fair queue.
type fairSlot struct {
	queue    *fairqueue.Queue
	key      string        // identifies the caller
	patience time.Duration // 0: unlimited
	release  func()        // set by wait
}

// wait implements slot.
func (s *fairSlot) wait(ctx context.Context) (err error) {
	if s.patience > 0 {
		s.release, err = s.queue.AcquireWithin(ctx, s.key, 1, s.patience)
	} else {
		s.release, err = s.queue.Acquire(ctx, s.key, 1)
	}
	if errors.Is(err, fairqueue.ErrFull) {
		return errNoSlot
	}
	return err
}

// end implements slot.
func (s *fairSlot) end() { s.release() }

// keepsWaiting implements slot.
func (*fairSlot) keepsWaiting() bool { return false }

// caller implements slot.
func (s *fairSlot) caller() string { return s.key }

type recheckKey struct{}

// WithRecheck returns a context for reviews of an open stream: the current identity and permissions
// of its caller. Such reviews do not wait behind those of new calls, and wait for as long as ctx is
// not done.
func WithRecheck(ctx context.Context) context.Context {
	return context.WithValue(ctx, recheckKey{}, true)
}

func isRecheck(ctx context.Context) bool { return ctx.Value(recheckKey{}) != nil }
