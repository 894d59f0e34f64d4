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
	// maxOfCaller bounds the concurrent reviews of one caller, so that others get a slot.
	maxOfCaller = 16
	// maxQuestionsWaiting bounds the waiting reviews of one caller. Each is a goroutine.
	maxQuestionsWaiting = 1024
	// maxRechecksWaiting bounds the waiting reviews of one caller's open streams.
	maxRechecksWaiting = 4096
	// turnPatience is how long a review waits for a slot; it has a separate time for its decision.
	// Reviews of open streams wait for as long as the stream does.
	turnPatience = 5 * time.Second
)

// turn gives a review its slot. It is for one review.
type turn interface {
	// wait blocks until the review has a slot. It returns errNoTurn if the queue is full or the
	// wait took too long.
	wait(ctx context.Context) error
	// end releases the slot.
	end()
	// staysInLine reports whether the review continues to wait when no caller waits for its result.
	staysInLine() bool
}

// turns shares the slots for reviews fairly among callers. Reviews of open streams have slots of
// their own: they do not wait behind new questions.
type turns struct{ questions, rechecks *fairqueue.Queue }

func newTurns() turns {
	return turns{
		questions: fairqueue.New(fairqueue.Limits{Total: maxLookups, PerKey: maxOfCaller, Waiting: maxQuestionsWaiting}),
		rechecks:  fairqueue.New(fairqueue.Limits{Total: maxLookups, PerKey: maxOfCaller, Waiting: maxRechecksWaiting}),
	}
}

// of returns the turn of one caller's review.
func (t turns) of(ctx context.Context, caller Key) turn {
	if isRecheck(ctx) {
		return &fairTurn{queue: t.rechecks, key: string(caller[:])}
	}
	return &fairTurn{queue: t.questions, key: string(caller[:]), patience: turnPatience}
}

// fairTurn is a turn in a fair queue.
type fairTurn struct {
	queue    *fairqueue.Queue
	key      string        // identifies the caller
	patience time.Duration // 0: unlimited
	release  func()        // set by wait
}

// wait implements turn.
func (t *fairTurn) wait(ctx context.Context) (err error) {
	if t.patience > 0 {
		t.release, err = t.queue.AcquireWithin(ctx, t.key, 1, t.patience)
	} else {
		t.release, err = t.queue.Acquire(ctx, t.key, 1)
	}
	if errors.Is(err, fairqueue.ErrFull) {
		return errNoTurn
	}
	return err
}

// end implements turn.
func (t *fairTurn) end() { t.release() }

// staysInLine implements turn.
func (*fairTurn) staysInLine() bool { return false }

type recheckKey struct{}

// Rechecking returns a context for reviews of an open stream: the current identity and permissions
// of its caller. Such reviews do not wait behind those of new calls, and wait for as long as ctx is
// not done.
func Rechecking(ctx context.Context) context.Context {
	return context.WithValue(ctx, recheckKey{}, true)
}

func isRecheck(ctx context.Context) bool { return ctx.Value(recheckKey{}) != nil }
