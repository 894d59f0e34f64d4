package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// lookupTimeout is how long the cluster may take to answer a question.
	lookupTimeout = 10 * time.Second
	// maxLookups bounds the questions of one kind that the cluster is asked at one time,
	// beside those about newcomers; more wait.
	maxLookups = 64
)

// lookups asks the cluster. Callers who ask the same at the same time are joined: the
// cluster is asked once. A look-up belongs to none of them, so one who goes away takes
// nothing from the others. Its methods are safe for concurrent use.
type lookups[A any] struct {
	group singleflight.Group
	slots slots         // the turns of those that have no other
	stop  chan struct{} // closed to end those under way

	counts counts

	running sync.WaitGroup

	mu    sync.Mutex // guards the fields below, and the counting up of running before ended
	ended bool
	told  complaint
}

// complaint is what the log says of look-ups that fail.
type complaint struct {
	text string
	at   time.Time
}

func newLookups[A any]() *lookups[A] {
	return &lookups[A]{slots: make(slots, maxLookups), stop: make(chan struct{})}
}

// join answers what ask does when its turn has come, whoever has called it. It returns
// earlier if the caller's own context ends. ask has a context of its own, without the
// caller's values.
func (l *lookups[A]) join(ctx context.Context, key string, turn turn, ask func(context.Context) (A, error)) (A, error) {
	answer := l.group.DoChan(key, func() (any, error) { return l.lookUp(turn, ask) })
	select {
	case result := <-answer:
		return result.Val.(A), result.Err
	case <-ctx.Done():
		var none A
		return none, context.Cause(ctx)
	}
}

func (l *lookups[A]) lookUp(turn turn, ask func(context.Context) (A, error)) (answer A, err error) {
	if !l.begin() {
		return answer, errEnded
	}
	defer l.running.Done()
	ctx, cancel := context.WithTimeout(wait.ContextForChannel(l.stop), lookupTimeout)
	defer cancel()
	if err = turn.wait(ctx); err == nil {
		defer turn.end()
		answer, err = ask(ctx)
		l.tell(err)
	}
	l.counts.count(err)
	return answer, err
}

func (l *lookups[A]) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.running.Add(1)
	return true
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
