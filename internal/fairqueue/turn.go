package fairqueue

import (
	"context"
	"math"
	"time"
)

// quantum is how long a turn lasts before it is passed on to others that wait.
const quantum = 5 * time.Millisecond

// account is the queue that work in a context takes its turns from, and for which key.
type account struct {
	queue *Queue
	key   string
}

// turn is the right to use one processor. It is owned by the goroutine that began it.
type turn struct {
	account
	since   time.Time
	release func()
}

type (
	accountKey struct{}
	turnKey    struct{}
)

// With returns a context in which [Begin] takes turns of q, one unit each, for key.
func With(ctx context.Context, q *Queue, key string) context.Context {
	return context.WithValue(ctx, accountKey{}, account{q, key})
}

// Begin blocks until the work that follows has a turn of the queue given by [With], and returns a
// context that carries the turn. The caller must call end. Until then the work calls [Yield] in its
// loops and blocks on nothing else: not on the network, and not on work that may need a turn
// itself. Where ctx carries a turn already, or has no queue, Begin does nothing.
//
// However much of a key waits, Begin waits too: what begins work has been admitted before. It returns
// the cause of ctx if ctx ends first.
func Begin(ctx context.Context) (with context.Context, end func(), err error) {
	account, ok := ctx.Value(accountKey{}).(account)
	if _, begun := ctx.Value(turnKey{}).(*turn); begun || !ok {
		return ctx, func() {}, context.Cause(ctx)
	}
	release, err := account.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &turn{account: account, since: time.Now(), release: release}
	return context.WithValue(ctx, turnKey{}, t), func() { t.release() }, nil
}

func (a account) acquire(ctx context.Context) (release func(), err error) {
	return a.queue.acquire(ctx, a.key, 1, math.MaxInt)
}

// Yield returns the cause with which ctx has ended, if it has. If ctx carries a turn that has
// lasted for 5 ms and another acquisition waits, Yield passes the turn on and blocks until it is
// the key's turn again. It costs some 100 ns: a loop calls it for every few dozen steps.
func Yield(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, _ := ctx.Value(turnKey{}).(*turn)
	if t == nil || time.Since(t.since) < quantum {
		return nil
	}
	return t.passOn(ctx)
}

func (t *turn) passOn(ctx context.Context) error {
	defer func() { t.since = time.Now() }()
	if !t.queue.isAwaited() {
		return nil
	}
	t.release()
	release, err := t.acquire(ctx)
	if err != nil {
		return err
	}
	t.release = release
	return nil
}

// Key returns the key for which work in the context takes turns; empty if it takes none.
func Key(ctx context.Context) string {
	account, _ := ctx.Value(accountKey{}).(account)
	return account.key
}
