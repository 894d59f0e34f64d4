package fairqueue

import (
	"context"
	"math"
	"time"
)

// quantum is the time after which a slot is passed on to others that wait.
const quantum = 5 * time.Millisecond

// account is the queue that work in a context acquires its slots from, and the key.
type account struct {
	queue *Queue
	key   string
	keys  func() []string     // see [WithKeys]; nil for key alone
	used  func(time.Duration) // see [WithMeter]
}

// slot is a processor slot that is in use. It is owned by the goroutine that began it.
type slot struct {
	account
	since   time.Time // when the slot was acquired, or its use was last reported
	release func()
	ended   bool
}

type (
	accountKey struct{}
	slotKey    struct{}
)

// With returns a context in which [Begin] acquires slots of q, of weight 1, for key.
func With(ctx context.Context, q *Queue, key string) context.Context {
	return WithMeter(ctx, q, key, func(time.Duration) {})
}

// WithMeter returns a context like [With], and calls used with the time for which work in it has held
// a slot: whenever [Yield] looks for others that wait, and at the end. The time of waiting is not part
// of it. used can be called concurrently, by work that runs in several slots.
func WithMeter(ctx context.Context, q *Queue, key string, used func(time.Duration)) context.Context {
	return context.WithValue(ctx, accountKey{}, account{queue: q, key: key, used: used})
}

// WithKeys returns a context like ctx, for work that several keys share: [Begin] acquires slots for the one
// of keys that holds and waits for the fewest. So the work is not later than any of them would do it. While
// there are no keys, slots are acquired as in ctx.
func WithKeys(ctx context.Context, keys func() []string) context.Context {
	account, ok := ctx.Value(accountKey{}).(account)
	if !ok {
		return ctx
	}
	account.keys = keys
	return context.WithValue(ctx, accountKey{}, account)
}

// Begin blocks until the work that follows has a slot of the queue given by [With], and returns a
// context with the slot. The caller must call end; further calls of it do nothing. Until then the
// work calls [Yield] in its loops and blocks on nothing else: neither on the network nor on work that
// may need a slot itself. If ctx already has a slot, or has no queue, Begin does nothing.
//
// Begin waits even if many acquisitions of the key wait already, because its call has been admitted
// before. It returns the cause of ctx if ctx is done first.
func Begin(ctx context.Context) (slotCtx context.Context, end func(), err error) {
	account, ok := ctx.Value(accountKey{}).(account)
	if _, begun := ctx.Value(slotKey{}).(*slot); begun || !ok {
		return ctx, func() {}, context.Cause(ctx)
	}
	release, err := account.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &slot{account: account, since: time.Now(), release: release}
	return context.WithValue(ctx, slotKey{}, t), t.end, nil
}

func (a account) acquire(ctx context.Context) (release func(), err error) {
	key := a.key
	if a.keys != nil {
		key = a.queue.leastBusy(a.keys(), a.key)
	}
	return a.queue.acquire(ctx, key, 1, math.MaxInt)
}

// Yield returns the cause of ctx if ctx is done. If ctx has a slot that has lasted for 5 ms and
// another acquisition waits, Yield passes the slot on and blocks until the key has a slot again. It
// costs about 100 ns: a loop calls it once for every few dozen steps.
func Yield(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, _ := ctx.Value(slotKey{}).(*slot)
	if t == nil || time.Since(t.since) < quantum {
		return nil
	}
	return t.yield(ctx)
}

func (t *slot) end() {
	t.release()
	if !t.ended {
		t.ended = true
		t.used(time.Since(t.since))
	}
}

func (t *slot) yield(ctx context.Context) error {
	t.used(time.Since(t.since))
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

// Key returns the key for which work in the context acquires slots, or an empty string if it
// acquires none.
func Key(ctx context.Context) string {
	account, _ := ctx.Value(accountKey{}).(account)
	return account.key
}
