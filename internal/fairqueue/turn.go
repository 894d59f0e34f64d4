package fairqueue

import (
	"context"
	"math"
	"slices"
	"time"
)

// quantum is the time after which a slot is passed on to others that wait.
const quantum = 5 * time.Millisecond

// account is the queue that work in a context acquires its slots from, and who pays for them.
type account struct {
	Payer
	queue  *Queue
	payers func() ([]Payer, <-chan struct{}) // see [WithPayers]; nil for Payer alone
}

// Payer is who pays for work: the key that slots are acquired for, and what is called with the time for which
// they were held; see [WithMeter]. The zero Payer is that of work without slots.
type Payer struct {
	key  string
	used func(time.Duration)
}

// slot is a processor slot that is in use. It is owned by the goroutine that began it.
type slot struct {
	account
	payer   Payer     // of the slot
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
	return context.WithValue(ctx, accountKey{}, account{queue: q, Payer: Payer{key, used}})
}

// PayerOf returns who pays for work in a context.
func PayerOf(ctx context.Context) Payer {
	account, _ := ctx.Value(accountKey{}).(account)
	return account.Payer
}

// WithPayers returns a context like ctx, for work that several payers share. [Begin] waits for slots in the
// queues of all of them, and the one that gets a slot first pays for it. So the work is not later than any of
// them would do it. payers returns at least one payer, and a channel that is closed when the payers have changed.
func WithPayers(ctx context.Context, payers func() ([]Payer, <-chan struct{})) context.Context {
	account, ok := ctx.Value(accountKey{}).(account)
	if !ok {
		return ctx
	}
	account.payers = payers
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
	t := &slot{account: account}
	if err := t.acquire(ctx); err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, slotKey{}, t), t.end, nil
}

func (t *slot) acquire(ctx context.Context) (err error) {
	t.payer = t.Payer
	if t.payers == nil {
		t.release, err = t.queue.acquire(ctx, t.key, 1, math.MaxInt)
	} else {
		t.release, err = t.acquireShared(ctx)
	}
	t.since = time.Now()
	return err
}

// acquireShared acquires a slot for the first of the payers that gets one.
func (t *slot) acquireShared(ctx context.Context) (release func(), err error) {
	var payers []Payer
	key, release, err := t.queue.acquireFor(ctx, func() (keys []string, changed <-chan struct{}) {
		payers, changed = t.payers()
		for _, payer := range payers {
			keys = append(keys, payer.key)
		}
		return keys, changed
	})
	if at := slices.IndexFunc(payers, func(p Payer) bool { return p.key == key }); at >= 0 {
		t.payer = payers[at]
	}
	return release, err
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
		t.payer.used(time.Since(t.since))
	}
}

func (t *slot) yield(ctx context.Context) error {
	t.payer.used(time.Since(t.since))
	t.since = time.Now()
	if !t.queue.isAwaited() {
		return nil
	}
	t.release()
	if err := t.acquire(ctx); err != nil {
		t.release, t.ended = func() {}, true
		return err
	}
	return nil
}

// Key returns the key for which work in the context acquires slots, or an empty string if it
// acquires none.
func Key(ctx context.Context) string {
	return PayerOf(ctx).key
}
