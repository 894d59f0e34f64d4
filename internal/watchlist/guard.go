package watchlist

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// MaxDelay bounds the time until the response to a watch-list begins. It is longer than a busy API server queues a request.
	MaxDelay = 30 * time.Second
	// MaxSilence bounds the time in which nothing of the response arrives. An API server sends the bookmark as soon as it has
	// sent the objects and its own cache is up to date, which takes a second or two.
	MaxSilence = 5 * time.Second
	// MaxChanges bounds the time from the first event that is no object of the snapshot: all objects have arrived then.
	MaxChanges = 30 * time.Second
)

var (
	// ErrAvoided is the error of a watch-list that is not requested, because a list is needed.
	ErrAvoided = errors.New("the resource is listed, because watch-lists of it are not completed")
	// errUnfinished ends the request for a watch-list.
	errUnfinished = errors.New("the watch-list is not completed")
)

// Guard ends the watch-lists of one Reflector that are not completed. Its methods are safe for concurrent use.
type Guard struct {
	resource string // set once, with memory
	memory   *Memory

	mu         sync.Mutex // guards unfinished
	unfinished bool       // a watch-list was ended, and no list has succeeded or failed since
}

// Guard returns the guard of a Reflector of a resource.
func (m *Memory) Guard(resource string) *Guard { return &Guard{resource: resource, memory: m} }

// Begin returns the context for the request of a watch-list, which ends if the watch-list is not completed. It fails with
// ErrAvoided if the Reflector must list. stalled reports whether nothing at all arrives on the connection: this says nothing about the
// watch-list. The caller must call End of the attempt.
func (g *Guard) Begin(ctx context.Context, stalled func() bool) (context.Context, *Attempt, error) {
	if g.isUnfinished() || g.memory.avoids(g.resource) {
		return nil, nil, ErrAvoided
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{guard: g, stalled: stalled, cancel: cancel}
	a.mu.Lock() // expire needs the timer
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(MaxDelay, a.expire)
	return context.WithValue(ctx, attemptKey{}, a), a, nil
}

func (g *Guard) isUnfinished() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unfinished
}

// Listed records the outcome of a list. If the list has succeeded in the place of a watch-list, the resource is listed from now on.
func (g *Guard) Listed(err error) {
	g.mu.Lock()
	unfinished := g.unfinished
	g.unfinished = false
	g.mu.Unlock()
	if unfinished && err == nil {
		g.memory.avoid(g.resource)
	}
}

func (g *Guard) noteUnfinished() {
	g.mu.Lock()
	g.unfinished = true
	g.mu.Unlock()
	g.memory.unfinished.Add(1)
}

// Attempt is one watch-list. Its methods are safe for concurrent use.
type Attempt struct {
	guard   *Guard // set once, as the fields below
	stalled func() bool
	cancel  context.CancelCauseFunc

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	over  bool      // it is completed, or has ended
	until time.Time // the time at which it must be completed; zero before the first change
}

// sent records that the request is sent, which client-go can do several times.
func (a *Attempt) sent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.timer.Reset(MaxDelay)
	}
}

// rejected records that the response is no watch. Nothing is due before the request is sent again, if at all: the API server can ask client-go
// to wait.
func (a *Attempt) rejected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer.Stop()
}

// arrived records that a part of the response has arrived.
func (a *Attempt) arrived() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.extendLocked()
}

func (a *Attempt) extendLocked() {
	if a.over {
		return
	}
	wait := MaxSilence
	if !a.until.IsZero() {
		wait = min(wait, time.Until(a.until))
	}
	a.timer.Reset(wait)
}

// Observe records an event of the watch. It always returns true, see Follow.
func (a *Attempt) Observe(event watch.Event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case Completes(event):
		a.endLocked()
	case event.Type != watch.Added && a.until.IsZero():
		a.until = time.Now().Add(MaxChanges)
	}
	a.extendLocked()
	return true
}

// End records that the watch has ended.
func (a *Attempt) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked()
	a.cancel(nil)
}

func (a *Attempt) endLocked() {
	a.over = true
	a.timer.Stop()
}

// expire ends the watch-list, unless its connection is stalled: the transport closes such a connection.
func (a *Attempt) expire() {
	stalled := a.stalled()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
	case stalled:
		a.timer.Reset(MaxSilence)
	default:
		a.endLocked()
		a.guard.noteUnfinished()
		a.cancel(errUnfinished)
	}
}

// Completes reports whether an event completes a watch-list.
func Completes(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	bookmark, err := meta.Accessor(event.Object)
	return err == nil && bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
