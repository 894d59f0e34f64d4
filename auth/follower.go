package auth

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeconnect/kubeconnect/internal/watchlist"
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
	watchLists  *watchlist.Guard

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
		watch:      api.Watch,
		watchLists: new(watchlist.Memory).Guard(resource),
		settled:    make(chan struct{}),
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
			f.watchLists.Listed(err)
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
	request := f.watch
	if initial {
		request = f.watchList
	}
	opened, err := request(ctx, options)
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

// watchList opens a watch with initial events, which ends if they are not completed. Then the Reflector lists.
func (f *follower) watchList(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, attempt, err := f.watchLists.Begin(ctx, func() bool { return false })
	if err != nil {
		return nil, err
	}
	opened, err := f.watch(ctx, options)
	if err != nil {
		attempt.End()
		return nil, err
	}
	return watchlist.Follow(opened, attempt.End, attempt.Observe), nil
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

// After etcd has been restored from a backup, the API server accepts a watch from a version that it
// has not reached yet, and sends nothing. Therefore a follower compares its version with the API
// server's when it has opened a watch, and every compareInterval while the watch is open: a list
// without a version is not older than anything that an API server has sent before. If the API server
// is at an older version, the follower relists.

// compareInterval is how often the version is compared while a watch is open. An open watch can
// survive a restore of etcd.
const compareInterval = time.Minute

// errRolledBack makes the Reflector relist.
var errRolledBack = apierrors.NewResourceExpired("the API server is at an older version than the watch")

// compare compares versions until the context is done.
func (w *followedWatch) compare(ctx context.Context) {
	backoff := followBackoff()
	for {
		pause := compareInterval
		if w.follower.compareVersions(ctx, w) {
			backoff = followBackoff()
		} else {
			pause = backoff.Step()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// compareVersions compares the version of the store with the API server's. It reports whether the
// API server has responded. A watch that is not newer than the API server keeps the store up to date
// from now on. A newer watch is ended.
func (f *follower) compareVersions(ctx context.Context, w *followedWatch) (responded bool) {
	stored := f.storedVersion()
	if isAnyVersion(stored) {
		return true
	}
	current, err := f.currentVersion(ctx)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case older(current, stored):
		f.rolledBack = true
		w.Interface.Stop()
	case w != f.initial: // the initial watch follows from the next call of synced
		f.beginLocked(w)
	}
	return true
}

func (f *follower) currentVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := f.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		return "", err
	}
	return listMeta.GetResourceVersion(), nil
}

func (f *follower) storedVersion() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// UpdateResourceVersion implements [cache.ResourceVersionUpdater] for the stores of followers. The
// Reflector calls it for each event, and for bookmarks.
func (f *follower) UpdateResourceVersion(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

func (f *follower) isRolledBack() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rolledBack
}

// reachable returns options without a version that the API server has not reached, so that they
// request the current version.
func (f *follower) reachable(options metav1.ListOptions) metav1.ListOptions {
	if f.isRolledBack() {
		options.ResourceVersion = ""
	}
	return options
}

// isAnyVersion reports whether a watch from the version begins with all objects.
func isAnyVersion(version string) bool { return version == "" || version == "0" }

// older reports whether version a is older than b. Versions that cannot be compared count as equal.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// mirror follows one kind of objects in the cluster. It is the store of its follower: it passes
// objects on, and keeps only their names.
type mirror struct {
	follower     *follower        // set once, with the fields below
	set          func(named, any) // receives each object; nil for a deleted one
	countChanged func()           // called when the number of objects changes

	mu    sync.Mutex // guards the fields below
	names map[named]struct{}
}

type mirrorState int

const (
	pending mirrorState = iota // it has not been listed yet
	synced
	refused // the service is not allowed to list it, or the cluster does not serve it
)

// newMirror returns a mirror of the objects that api lists. set is called with each created or
// changed object, and with nil for a deleted one. The mirror does not retain the objects.
func newMirror[T any, L runtime.Object](resource string, api lister[L], set func(named, *T)) *mirror {
	return &mirror{
		follower:     newFollower[T](resource, "changes of permissions are noticed late", api),
		set:          func(name named, object any) { typed, _ := object.(*T); set(name, typed) },
		countChanged: func() {},
		names:        make(map[named]struct{}),
	}
}

// run follows the objects until the context is done.
func (m *mirror) run(ctx context.Context) { m.follower.run(ctx, m) }

// namespaces returns the sorted names of the objects in the mirror, which must be cluster-scoped.
func (m *mirror) namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[string]struct{}, len(m.names))
	for name := range m.names {
		found[name.name] = struct{}{}
	}
	return sortedKeys(found)
}

// Add implements [cache.ReflectorStore]. Only the Reflector's goroutine calls it.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update implements [cache.ReflectorStore].
func (m *mirror) Update(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.addName(name)
	m.set(name, object)
	return nil
}

// Delete implements [cache.ReflectorStore].
func (m *mirror) Delete(object any) error {
	name, err := nameOf(object)
	if err != nil {
		return err
	}
	m.removeName(name)
	return nil
}

func (m *mirror) addName(name named) {
	m.mu.Lock()
	count := len(m.names)
	m.names[name] = struct{}{}
	added := len(m.names) > count
	m.mu.Unlock()
	if added {
		m.countChanged()
	}
}

func (m *mirror) removeName(name named) {
	m.mu.Lock()
	delete(m.names, name)
	m.mu.Unlock()
	m.set(name, nil)
	m.countChanged()
}

// Replace implements [cache.ReflectorStore].
func (m *mirror) Replace(objects []any, version string) error {
	m.mu.Lock()
	deleted := maps.Clone(m.names)
	m.mu.Unlock()
	for _, object := range objects {
		if err := m.Update(object); err != nil {
			return err
		}
		name, _ := nameOf(object)
		delete(deleted, name)
	}
	for name := range deleted {
		m.removeName(name)
	}
	m.follower.UpdateResourceVersion(version)
	m.follower.synced()
	return nil
}

// Resync implements [cache.ReflectorStore]; there is nothing to do.
func (m *mirror) Resync() error { return nil }

// UpdateResourceVersion implements [cache.ResourceVersionUpdater].
func (m *mirror) UpdateResourceVersion(version string) { m.follower.UpdateResourceVersion(version) }

func nameOf(object any) (named, error) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return named{}, fmt.Errorf("%T has no name", object)
	}
	return named{meta.GetNamespace(), meta.GetName()}, nil
}
