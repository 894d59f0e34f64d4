package fairqueue

import (
	"context"
	"errors"
	"time"
)

// ErrBehind reports that the work of a key is so far behind its pace that more of it would wait too long.
var ErrBehind = errors.New("the work of this caller takes more than its share of the processors")

const (
	// paceCredit is the processor time that a key can use at once after an idle time.
	paceCredit = 250 * time.Millisecond
	// maxPaceDebt bounds the time until what a key has used is paid. Work outside of turns can use more than
	// the share, and must not delay the turns after it for longer than that.
	maxPaceDebt = 2 * time.Second
	// maxPause is the longest time that work waits for its turn, with the pause. Work that would have to
	// wait for longer fails with ErrBehind.
	maxPause = 5 * time.Second
	// manyPaces is the number of keys above which idle ones are removed.
	manyPaces = 1024
)

// Pace bounds the processor time that work which nobody calls for takes for each key in the long run,
// such as the work of a caller's streams at each change. Work that is ahead of the pace does not wait.
// Otherwise the works of one key take turns, and each pauses until the time that was used before it is
// paid, for maxPaceDebt at most: whatever the number of streams, a key uses its share and no more. It is
// safe for concurrent use.
type Pace struct {
	share float64 // processors
	turns *Queue

	paid map[string]time.Time // by key: when what was used is paid; guarded by turns.mu
}

// NewPace returns a pace of a share of the processors for each key: 0.5 is half of one.
func NewPace(share float64) *Pace {
	return &Pace{
		share: share, paid: make(map[string]time.Time),
		turns: New(Limits{Name: "the pace of streams", Total: 1 << 62, PerKey: max(1, int64(share)), Waiting: 1 << 30}),
	}
}

type paceKey struct{}

// WithPace returns a context in which [BeginTurn] keeps to a pace, for the key of [With].
func WithPace(ctx context.Context, pace *Pace) context.Context {
	return context.WithValue(ctx, paceKey{}, pace)
}

// Use adds processor time that a key has used. A nil pace ignores it.
func (p *Pace) Use(key string, used time.Duration) {
	if p == nil {
		return
	}
	now := time.Now()
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	if len(p.paid) > manyPaces {
		for key, paid := range p.paid {
			if now.Sub(paid) > paceCredit {
				delete(p.paid, key)
			}
		}
	}
	paid := p.paid[key]
	if earliest := now.Add(-paceCredit); paid.Before(earliest) {
		paid = earliest
	}
	paid = paid.Add(time.Duration(float64(used) / p.share))
	if latest := now.Add(maxPaceDebt); paid.After(latest) {
		paid = latest
	}
	p.paid[key] = paid
}

// pause returns the time until what a key has used is paid.
func (p *Pace) pause(key string) time.Duration {
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	return time.Until(p.paid[key])
}

// BeginTurn blocks until it is the turn of work in ctx, by the pace of [WithPace]. The caller must call
// end when the work is done, and must not wait for its own client before. Without a pace BeginTurn does
// nothing. It fails with ErrBehind, and with the cause of ctx.
func BeginTurn(ctx context.Context) (end func(), err error) {
	pace, _ := ctx.Value(paceKey{}).(*Pace)
	if pace == nil {
		return func() {}, nil
	}
	key, began := Key(ctx), time.Now()
	release, err := pace.turns.AcquireWithin(ctx, key, 1, maxPause)
	if errors.Is(err, ErrFull) {
		return nil, ErrBehind
	}
	if err != nil {
		return nil, err
	}
	pause := pace.pause(key)
	switch {
	case pause <= 0:
		return release, nil
	case time.Since(began)+pause > maxPause:
		release()
		return nil, ErrBehind
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}
