package auth

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxLookups bounds the questions of one kind that the cluster is asked at one time, beside
	// those about newcomers and those of running streams; more wait.
	maxLookups = 64
	// maxOfCaller is how many of them one caller may have, so that others have a turn.
	maxOfCaller = 16
	// maxQuestionsWaiting bounds the questions of one caller that wait for a turn. Each is a
	// goroutine.
	maxQuestionsWaiting = 1024
	// maxRechecksWaiting is the same for the questions of one caller's running streams.
	maxRechecksWaiting = 4096
	// turnPatience is how long a question waits for a turn; the look-up has a time of its own.
	// Those of running streams wait for as long as the stream does.
	turnPatience = 5 * time.Second
)

// turn is what a look-up waits for before the cluster is asked. It is for one look-up.
type turn interface {
	// wait blocks until the look-up has its turn. It returns errNoTurn if the look-up may not
	// wait, or has waited for long enough.
	wait(ctx context.Context) error
	// end releases the turn that wait has got.
	end()
	// staysInLine reports whether the look-up waits on when nobody waits for its answer.
	staysInLine() bool
}

// turns shares the look-ups among callers. Those for running streams have turns of their own:
// they do not wait behind new questions.
type turns struct{ questions, rechecks *fairqueue.Queue }

func newTurns() turns {
	return turns{
		questions: fairqueue.New(fairqueue.Limits{Total: maxLookups, PerKey: maxOfCaller, Waiting: maxQuestionsWaiting}),
		rechecks:  fairqueue.New(fairqueue.Limits{Total: maxLookups, PerKey: maxOfCaller, Waiting: maxRechecksWaiting}),
	}
}

// of returns the turn of one caller's look-up.
func (t turns) of(ctx context.Context, caller Key) turn {
	if isRecheck(ctx) {
		return &fairTurn{queue: t.rechecks, key: string(caller[:])}
	}
	return &fairTurn{queue: t.questions, key: string(caller[:]), patience: turnPatience}
}

// fairTurn is a turn that callers share.
type fairTurn struct {
	queue    *fairqueue.Queue
	key      string        // of the caller
	patience time.Duration // 0 is without an end
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

// Rechecking returns a context for questions about a stream that runs: who its caller is, and what
// the caller may do, now. Such questions do not wait behind those of calls that begin, and wait for
// as long as ctx does.
func Rechecking(ctx context.Context) context.Context {
	return context.WithValue(ctx, recheckKey{}, true)
}

func isRecheck(ctx context.Context) bool { return ctx.Value(recheckKey{}) != nil }
