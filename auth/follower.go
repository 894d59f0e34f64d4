package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// maxGap is how long a watch can be interrupted while its follower still counts as up to date. It
// is the time for which decisions are cached without following anything.
const maxGap = 10 * time.Second

// refusedPause is the delay after the API server denied a list, because the service's own
// permissions rarely change.
const refusedPause = time.Minute

// follower follows the objects of one kind in the cluster with client-go's Reflector, which fills a
// store. It knows whether the store is up to date. Its methods are safe for concurrent use.
type follower struct {
	resource    string // set once, with those below
	lossMessage string // logged if the service is not allowed to list and watch the resource
	expected    runtime.Object
	list        func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch       func(context.Context, metav1.ListOptions) (watch.Interface, error)

	mu            sync.Mutex // guards the fields below
	state         mirrorState
	settled       chan struct{}  // closed when state is no longer pending
	current       *followedWatch // the watch that keeps the store up to date; nil if there is none
	initial       *followedWatch // a watch that has not sent its initial events yet
	upToDateSince time.Time      // the time since which the store has been up to date, apart from gaps below maxGap
	lastWatchEnd  time.Time      // the end of the last watch that was no shortWatch

	version    string // of the last change or bookmark in the store
	rolledBack bool   // the API server is at an older version, and the store is not replaced yet
}

// lister is the part of client-go's typed clients that a follower needs.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newFollower returns a follower of the objects of type T that api lists.
func newFollower[T any, L runtime.Object](resource, loss string, api lister[L]) *follower {
	object, _ := any(new(T)).(runtime.Object)
	return &follower{
		resource:    resource,
		lossMessage: loss,
		expected:    object,
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		},
		watch:   api.Watch,
		settled: make(chan struct{}),
	}
}

// run fills the store until the context is done. The store must call synced after each replacement
// of its contents.
func (f *follower) run(ctx context.Context, store cache.ReflectorStore) {
	for ctx.Err() == nil {
		f.follow(ctx, store)
		select {
		case <-time.After(refusedPause):
		case <-ctx.Done():
		}
	}
}

// follow runs a Reflector until the context is done or its list is denied.
func (f *follower) follow(ctx context.Context, store cache.ReflectorStore) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	refuse := func(err error) {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			f.setRefused(err)
			stop()
		}
	}
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := f.list(ctx, f.reachable(options))
			refuse(err)
			return list, err
		},
		WatchFuncWithContext: f.open,
	}
	cache.NewReflectorWithOptions(lists, f.expected, store, cache.ReflectorOptions{
		Name:            "auth",
		TypeDescription: f.resource,
		Backoff:         followBackoff(),
	}).RunWithContext(ctx)
}

// followBackoff returns the delays of a Reflector between attempts: up to about 30 seconds.
func followBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 10, Cap: 30 * time.Second, Jitter: 0.2}
}

// shortWatch is the minimum duration of a watch. A shorter watch does not show that the API server
// has sent all changes.
const shortWatch = time.Second

// followedWatch is a watch whose end its follower notices.
type followedWatch struct {
	watch.Interface
	follower *follower
	since    time.Time

	endComparing func() // blocks until compare has returned
}

// Stop implements [watch.Interface]. The Reflector stops each watch that it has opened, even if the
// API server has ended it.
func (w *followedWatch) Stop() {
	w.endComparing()
	w.follower.ended(w)
	w.Interface.Stop()
}

// open opens a watch. A watch with initial events keeps the store up to date from the next call of
// synced, all others as soon as the API server is known to have reached their version.
func (f *follower) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	if !initial && f.isRolledBack() {
		return nil, errRolledBack
	}
	options = f.reachable(options)
	opened, err := f.watch(ctx, options)
	if err != nil {
		return nil, err
	}
	w := &followedWatch{Interface: opened, follower: f, since: time.Now()}
	f.opened(w, options.ResourceVersion, initial)
	comparing, end := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { w.compare(comparing) })
	w.endComparing = func() { end(); done.Wait() }
	return w, nil
}

func (f *follower) opened(w *followedWatch, version string, initial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
	switch {
	case initial:
		f.initial = w
	case isAnyVersion(version):
		f.beginLocked(w)
	}
}

func (f *follower) beginLocked(w *followedWatch) {
	if now := time.Now(); now.Sub(f.lastWatchEnd) >= maxGap && f.current == nil {
		f.upToDateSince = now
	}
	f.current = w
}

func (f *follower) ended(w *followedWatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch w {
	case f.initial:
		f.initial = nil
	case f.current:
		f.current = nil
		if time.Since(w.since) >= shortWatch {
			f.lastWatchEnd = time.Now()
		}
	}
}

// synced records that the contents of the store have been replaced by the current objects.
func (f *follower) synced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rolledBack {
		f.rolledBack, f.upToDateSince = false, time.Now()
	}
	if f.initial != nil {
		f.beginLocked(f.initial)
		f.initial = nil
	}
	f.settleLocked(synced)
}

func (f *follower) setRefused(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != refused {
		f.logRefusal(err)
	}
	f.settleLocked(refused)
}

// logRefusal logs that the service is not allowed to list and watch the resource; err is nil if it
// did not try.
func (f *follower) logRefusal(err error) {
	text := f.lossMessage + ": the service is not allowed to list and watch " + f.resource
	if err == nil {
		slog.Info(text)
		return
	}
	slog.Warn(text, "error", err)
}

func (f *follower) settleLocked(state mirrorState) {
	if f.state == pending {
		close(f.settled)
	}
	f.state = state
}

// hasFollowed reports whether the store has been up to date since a time, apart from gaps below
// maxGap: every change since then is in the store, or will be in a moment.
func (f *follower) hasFollowed(from time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state == synced && !f.rolledBack && from.After(f.upToDateSince) &&
		(f.current != nil || time.Since(f.lastWatchEnd) < maxGap)
}

// waitSettled returns the follower's state. It blocks while the state is pending and the context is not
// done.
func (f *follower) waitSettled(ctx context.Context) mirrorState {
	select {
	case <-f.settled:
	case <-ctx.Done():
	}
	return f.currentState()
}

func (f *follower) currentState() mirrorState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}
