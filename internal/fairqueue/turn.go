package fairqueue

import (
	"context"
	"math"
	"time"
)

// quantum is how long a turn lasts before it is passed on to others that wait.
const quantum = 5 * time.Millisecond

// turn is the right to use one processor. It is owned by the goroutine that began it.
type turn struct {
	queue   *Queue
	key     string
	since   time.Time
	release func()
}

type turnKey struct{}

// Begin blocks until key has a turn, one unit of q, and returns a context that carries it. The
// caller must call end. Work in the context calls [Yield] in its loops, and does not block on
// anything but that. Begin returns the errors of [Queue.Acquire].
func (q *Queue) Begin(ctx context.Context, key string) (with context.Context, end func(), err error) {
	release, err := q.Acquire(ctx, key, 1)
	if err != nil {
		return nil, nil, err
	}
	t := &turn{queue: q, key: key, since: time.Now(), release: release}
	return context.WithValue(ctx, turnKey{}, t), func() { t.release() }, nil
}

// Yield returns the cause with which ctx has ended, if it has. If ctx carries a turn that has
// lasted for 5 ms and another acquisition waits, Yield passes the turn on and blocks until it is
// the key's turn again. It costs some 100 ns: a loop calls it for every few dozen steps.
func Yield(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
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
	t.release = func() {}                                       // until there is another
	release, err := t.queue.acquire(ctx, t.key, 1, math.MaxInt) // it has been admitted already
	if err != nil {
		return err
	}
	t.release = release
	return nil
}
