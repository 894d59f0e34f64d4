package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// lookupTimeout is how long the cluster may take to answer a question.
const lookupTimeout = 10 * time.Second

// lookups asks the cluster. Callers who ask the same at the same time are joined: the
// cluster is asked once. A look-up belongs to none of them, so one who goes away takes
// nothing from the others; it is given up when all have gone before it had a turn.
// Its methods are safe for concurrent use.
type lookups[A any] struct {
	turns turns         // of those that have no other; set once
	stop  chan struct{} // closed to end those under way

	counts counts

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the counting up of running before ended
	flights map[string]*flight[A]
	ended   bool
	told    complaint
}

// flight is one look-up, which all who ask the same have joined.
type flight[A any] struct {
	key  string // set once, with turn
	turn turn
	done chan struct{} // closed when answer and err are set

	answer A
	err    error

	waiting int                // callers that wait for the answer; guarded by the lookups' mu, with those below
	asking  bool               // it has had its turn
	giveUp  context.CancelFunc // ends the wait for the turn
}

// complaint is what the log says of look-ups that fail.
type complaint struct {
	text string
	at   time.Time
}

func newLookups[A any]() *lookups[A] {
	return &lookups[A]{turns: newTurns(), stop: make(chan struct{}), flights: map[string]*flight[A]{}}
}

// ask returns what do returns when a turn of the caller's has come, whoever has called it. It
// returns earlier if the caller's own context ends. do has a context of its own, without the
// caller's values. Questions about running streams are apart from others, as their turns are.
func (l *lookups[A]) ask(ctx context.Context, key string, caller Key, do func(context.Context) (A, error)) (A, error) {
	if isRecheck(ctx) {
		key = "again " + key
	}
	return l.join(ctx, key, l.turns.of(ctx, caller), do)
}

// join is ask with a turn.
func (l *lookups[A]) join(ctx context.Context, key string, turn turn, do func(context.Context) (A, error)) (none A, err error) {
	f := l.board(key, turn, do)
	if f == nil {
		return none, errEnded
	}
	select {
	case <-f.done:
		return f.answer, f.err
	case <-ctx.Done():
		l.leave(f)
		return none, context.Cause(ctx)
	}
}

// board returns the look-up of a key, begun if there is none; nil if the lookups have ended.
func (l *lookups[A]) board(key string, turn turn, do func(context.Context) (A, error)) *flight[A] {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[key]
	switch {
	case l.ended:
		return nil
	case f == nil:
		f = l.beginLocked(key, turn, do)
	}
	f.waiting++
	return f
}

func (l *lookups[A]) beginLocked(key string, turn turn, do func(context.Context) (A, error)) *flight[A] {
	ctx, giveUp := context.WithCancel(wait.ContextForChannel(l.stop))
	f := &flight[A]{key: key, turn: turn, done: make(chan struct{}), giveUp: giveUp}
	l.flights[key] = f
	l.running.Go(func() {
		defer giveUp()
		f.answer, f.err = l.lookUp(ctx, f, do)
		l.land(f)
	})
	return f
}

// leave is called by a caller who waits for the answer no longer.
func (l *lookups[A]) leave(f *flight[A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.waiting--
	if f.waiting == 0 && !f.asking && !f.turn.staysInLine() {
		l.removeLocked(f)
		f.giveUp()
	}
}

// depart reports whether a look-up that has its turn is still wanted.
func (l *lookups[A]) depart(f *flight[A]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.asking = l.flights[f.key] == f
	return f.asking
}

func (l *lookups[A]) land(f *flight[A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(f)
	close(f.done)
}

func (l *lookups[A]) removeLocked(f *flight[A]) {
	if l.flights[f.key] == f {
		delete(l.flights, f.key)
	}
}

// lookUp waits for the turn in ctx. The cluster has a time of its own to answer.
func (l *lookups[A]) lookUp(ctx context.Context, f *flight[A], do func(context.Context) (A, error)) (answer A, err error) {
	if err = f.turn.wait(ctx); err == nil {
		defer f.turn.end()
		if !l.depart(f) {
			return answer, context.Canceled // nobody sees it
		}
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		answer, err = do(ctx)
		l.tell(err)
	}
	l.counts.count(err)
	return answer, err
}

// tell logs why the cluster could not be asked, the same thing once a minute only.
func (l *lookups[A]) tell(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || l.ended || l.told.text == err.Error() && time.Since(l.told.at) < time.Minute {
		return
	}
	l.told = complaint{err.Error(), time.Now()}
	slog.Warn("the cluster could not be asked about a caller", "error", err)
}

// end ends the look-ups under way and waits for them. Later ones fail.
func (l *lookups[A]) end() {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.stop)
	}
	l.mu.Unlock()
	l.running.Wait()
}
