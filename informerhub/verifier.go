package informerhub

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// verifier compares a cache with the API server, which knows what the cache's own watch does not show:
// that nothing has changed up to a version, that deletions were left out, or that the history was undone.
//
// A cache receives its own resource's changes at once. That there were none, it learns only from
// the API server's bookmarks, once a minute. A caller that waits for the version of another
// resource's change would wait that long. So the API server is asked: if a second watch from the
// feed's version has no events up to the awaited version, the feed has reached it. It says so by a
// bookmark. Of some resources, such as events, it sends no bookmarks. These are listed instead, for
// callers that wait: if the list has the objects of the cache, the cache has reached its version. So is a namespace that is cached
// by itself, unless it has very many objects: a bookmark takes a second or two, and is left out if the last change of the
// resource was in another namespace, and a list takes some milliseconds.
type verifier struct {
	cache *scopeCache

	needsCatchUp chan struct{} // has a value after a watch was opened or a list was applied
	bookmarked   chan struct{} // has a value after a bookmark arrived
	needsCheck   chan struct{} // has a value after feed.unchecked was set

	reportsBy atomic.Int32 // how the API server reports its progress

	// Of the cache of a namespace, for callers that wait: they can cause a request for each namespace. Nil for a whole resource.
	slots *fairqueue.Queue // of the hub
	lists *rate.Limiter

	mu          sync.Mutex // held while progress is requested, and guards the field below
	listAgainAt time.Time  // when the API server may be asked for a list again
}

func newVerifier(c *scopeCache) *verifier {
	return &verifier{
		cache:        c,
		needsCatchUp: make(chan struct{}, 1),
		bookmarked:   make(chan struct{}, 1),
		needsCheck:   make(chan struct{}, 1),
	}
}

// run verifies the cache until the context ends.
func (v *verifier) run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { v.closeVersions(ctx) })
	tasks.Go(func() { v.confirmCurrent(ctx) })
	tasks.Go(func() { v.checkDeletions(ctx) })
	tasks.Wait()
}

// signal puts a value into a channel with one place, unless there is one.
func signal(full chan<- struct{}) {
	select {
	case full <- struct{}{}:
	default:
	}
}

// askProgressAfter is the time to wait for the Reflector's own watch before asking. A change of
// this resource arrives through that watch.
const askProgressAfter = 100 * time.Millisecond

// maxAskPause bounds the pause between two requests for a caller that waits.
const maxAskPause = 2 * time.Second

// keepAsking calls ask repeatedly until the context ends. ask reports whether it has asked, or had no
// turn to ask: then the next pause is longer.
func keepAsking(ctx context.Context, ask func(context.Context) bool) {
	for wait := askProgressAfter; pause(ctx, wait); {
		if ask(ctx) {
			wait = min(2*wait, maxAskPause)
		}
	}
}

// askState asks for a caller that waits, for the API server's progress or for a list: see verifier. Only one request runs at a
// time, for all waiting callers.
func (v *verifier) askState(ctx context.Context) (asked bool) {
	isListed := v.isListedNamespace()
	if isListed && !v.lists.Allow() {
		return false
	}
	end, ok := v.begin(ctx)
	if !ok {
		return true
	}
	defer end()
	if !isListed {
		v.askProgress(ctx)
	}
	if isListed || v.lacksBookmarks() {
		v.askList(ctx)
	}
	return true
}

// askFeed asks for the API server's progress, for a caller that waits for the feed.
func (v *verifier) askFeed(ctx context.Context) (asked bool) {
	if end, ok := v.begin(ctx); ok {
		defer end()
		v.askProgress(ctx)
	}
	return true
}

// begin waits for a slot of the caller, if the cache is that of a namespace.
func (v *verifier) begin(ctx context.Context) (end func(), ok bool) {
	if v.slots == nil {
		return func() {}, true
	}
	end, err := v.slots.Acquire(ctx, fairqueue.Key(ctx), 1)
	return end, err == nil
}

// maxListedNamespace is the number of objects up to which a namespace is listed.
const maxListedNamespace = 2500

// isListedNamespace reports whether a list shows at once, and with little work, that nothing has changed.
func (v *verifier) isListedNamespace() bool {
	c := v.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	return v.lists != nil && c.store.count <= maxListedNamespace
}

// askList compares the cache with a list of the API server.
func (v *verifier) askList(ctx context.Context) {
	if !v.mu.TryLock() {
		return
	}
	defer v.mu.Unlock()
	if time.Now().Before(v.listAgainAt) {
		return
	}
	began := time.Now()
	listed, err := v.cache.history.listed(ctx)
	if took := time.Since(began); v.lists == nil {
		v.listAgainAt = time.Now().Add(max(minListPause-took, took))
	}
	if err == nil {
		v.compareList(ctx, listed)
	}
}

// A namespace is listed once a second in the long run, and namespaceLists times at once.
const namespaceLists = 5

// minListPause is the time from the beginning of a list until the next one may begin, and lists take
// half of the time at most.
const minListPause = time.Second

// maxListWait bounds the time for which a list is compared again after changes of the cache.
const maxListWait = time.Second

// compareList confirms the version of a list as soon as the cache has its objects: the watch may still
// have to deliver some of them.
func (v *verifier) compareList(ctx context.Context, listed listedState) {
	ctx, cancel := context.WithTimeout(ctx, maxListWait)
	defer cancel()
	for {
		advanced, err := v.cache.notAt(listed.version)
		if advanced == nil || err != nil || v.confirm(listed) {
			return
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return
		}
	}
}

// confirm records that the feed has reached the version of a list, if the cache has its objects.
func (v *verifier) confirm(listed listedState) bool {
	c := v.cache
	c.mu.RLock()
	from, objects := c.feed.end(), c.store.all()
	c.mu.RUnlock()
	cached := listedState{version: listed.version}
	for _, object := range objects {
		cached.add(object)
	}
	if cached != listed {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed.end() != from {
		return false
	}
	c.feed.confirm(listed.version)
	return true
}

// listedState identifies the objects of a list, and their versions, whatever their order.
type listedState struct {
	version string
	objects int
	sum     uint64 // of the hashes of the objects
}

var listedSeed = maphash.MakeSeed()

func (l *listedState) add(object *Object) {
	l.objects++
	l.sum += maphash.Comparable(listedSeed, [...]string{object.Namespace(), object.Name(), object.UID(), object.ResourceVersion()})
}

// How the API server reports its progress, as far as a cache knows.
const (
	unknownProgress int32 = iota
	byBookmarks
	withoutBookmarks
)

func (v *verifier) lacksBookmarks() bool { return v.reportsBy.Load() == withoutBookmarks }

// askProgress advances the feed if the API server reports that there were no changes since. Only
// one request runs at a time, for all waiting callers.
func (v *verifier) askProgress(ctx context.Context) {
	c := v.cache
	if v.lacksBookmarks() || !v.mu.TryLock() {
		return
	}
	defer v.mu.Unlock()
	c.mu.RLock()
	from := c.feed.end()
	c.mu.RUnlock()
	version, err := c.history.progress(ctx, from.closed, v.hasApplied)
	switch {
	case errors.Is(err, errNoBookmarks):
		v.reportsBy.CompareAndSwap(unknownProgress, withoutBookmarks)
		return
	case err != nil:
		return // callers keep waiting, and time out in the end
	}
	v.reportsBy.Store(byBookmarks)
	c.mu.Lock()
	defer c.mu.Unlock()
	// A list that is in progress may be of an older version, and would look like one of another
	// history.
	if c.feed.end() == from && !c.following.listing {
		c.feed.advance(version)
	}
}

// hasApplied reports whether the cache has applied an event of the API server.
func (v *verifier) hasApplied(event watch.Event) bool {
	c := v.cache
	state, ok := event.Object.(*Object)
	if !ok {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object.Older(c.feed.version, state.ResourceVersion()) {
		return false
	}
	cached := c.store.get(state.Namespace(), state.Name())
	if event.Type == watch.Deleted {
		return cached == nil || cached.UID() != state.UID()
	}
	return cached != nil && cached.UID() == state.UID() && !object.Older(cached.ResourceVersion(), state.ResourceVersion())
}

// closeAfter is the time for which a deletion may be the last change before the API server is asked
// whether it was the only one at its version. With other traffic, the next change shows that.
const closeAfter = time.Second

// maxClosePause bounds the pause until the API server is asked again after it did not respond.
const maxClosePause = time.Minute

// closeVersions asks the API server whether everything at the feed's version is known, until the
// context ends. It does so when nothing else has shown that for a while and there are watchers.
// Without a response their bookmarks stay at the version before.
func (v *verifier) closeVersions(ctx context.Context) {
	for {
		select {
		case <-v.cache.feed.versionOpened:
		case <-ctx.Done():
			return
		}
		for wait := closeAfter; v.isOpen(); wait = min(2*wait, maxClosePause) {
			if !pause(ctx, wait) {
				return
			}
			if v.isOpen() && v.cache.watched() {
				v.askProgress(ctx)
			}
		}
	}
}

// isOpen reports whether there may be more changes at the version that the cache has reached.
func (v *verifier) isOpen() bool {
	c := v.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.closed != c.feed.version
}

// An API server that starts a watch, or a list from memory, while it handles several deletions at one
// version may leave out those which it handles later: what it has sent so far has that version already.
// A watch of the same time that starts later gets all of them. So a while after each start the
// deletions since then are requested again, and compared with the cache.

// maxUnreceived is the number of times that a deletion at an open version may be found to be missing
// before the cache relists: it may still arrive through the watch.
const maxUnreceived = 2

// checkDeletions relists the cache if deletions were left out when a list or watch was started. It runs
// until the context ends.
func (v *verifier) checkDeletions(ctx context.Context) {
	for {
		select {
		case <-v.needsCheck:
		case <-ctx.Done():
			return
		}
		unreceived, wait := 0, closeAfter
		for pause(ctx, wait) && !v.hasDeletions(ctx, &unreceived) {
			wait = min(2*wait, maxClosePause)
		}
	}
}

// hasDeletions reports whether the check since the last start has ended. unreceived counts how often a
// deletion at an open version was missing.
func (v *verifier) hasDeletions(ctx context.Context, unreceived *int) bool {
	c := v.cache
	c.mu.RLock()
	since, until, started := c.feed.unchecked, c.feed.version, c.following
	c.mu.RUnlock()
	switch {
	case since == "":
		return true // checked together with an earlier start
	case !started.current:
		return false // what was sent at the start may still be in transit
	}
	var deleted []latest
	var err error
	if since != until {
		deleted, err = c.history.deletions(ctx, since, until)
	}
	if err != nil && !errors.Is(err, errHistoryExpired) && !errors.Is(err, errHistorySilent) {
		return false
	}
	c.mu.Lock()
	missing, open := v.missingLocked(deleted)
	restarted := c.following.disruptions != started.disruptions
	if open {
		*unreceived++
	}
	if restarted || open && *unreceived <= maxUnreceived {
		c.mu.Unlock()
		return false
	}
	c.feed.unchecked = ""
	c.mu.Unlock()
	if missing {
		c.history.relist()
	}
	return true
}

// missingLocked reports whether the cache still has deleted objects, and whether the versions of all these
// deletions are open.
func (v *verifier) missingLocked(deleted []latest) (missing, open bool) {
	open = true
	for _, deletion := range deleted {
		cached := v.cache.store.get(deletion.object.Namespace(), deletion.object.Name())
		if cached != nil && cached.UID() == deletion.object.UID() && !object.Older(deletion.version, cached.ResourceVersion()) {
			missing, open = true, open && object.Older(v.cache.feed.closed, deletion.version)
		}
	}
	return missing, missing && open
}

// confirmCurrent determines, each time that a watch was opened, when the cache has caught up with
// the API server, and at each bookmark whether the API server has gone back in time. It runs until
// the context ends.
func (v *verifier) confirmCurrent(ctx context.Context) {
	for {
		select {
		case <-v.needsCatchUp:
			v.catchUp(ctx)
		case <-v.bookmarked:
			v.compareVersions(ctx)
		case <-ctx.Done():
			return
		}
	}
}

const (
	// catchUpTimeout is the time to wait for a cache to reach the API server's current version,
	// before the API server is asked for the version again. A watch that is open and has been quiet
	// for that long, while the API server responds, has nothing to catch up with: some resources,
	// such as events, have no bookmarks that would show it.
	catchUpTimeout = 5 * time.Second
	// catchUpPause is the pause after the API server could not be asked.
	catchUpPause = time.Second
)

func (v *verifier) catchUp(ctx context.Context) {
	for !v.caughtUp(ctx) {
		if !pause(ctx, catchUpPause) {
			return
		}
	}
}

// compareVersions relists the cache if the API server is at an older version than the cache: its
// etcd was restored from a backup, and the open watch does not report that. An older bookmark does
// not prove it, because one API server may lag behind another. A list without a version does: its
// version is not older than anything that any API server has sent before.
func (v *verifier) compareVersions(ctx context.Context) {
	c := v.cache
	c.mu.RLock()
	following, synced, cached := c.following, c.state.synced, c.feed.version
	c.mu.RUnlock()
	if !following.open || following.listing || !synced {
		return // the next watch is compared when it is open
	}
	version, err := c.history.current(ctx)
	if err != nil || !object.Older(version, cached) {
		return // without a response, the next bookmark asks again
	}
	c.history.relist()
}

// caughtUp asks the API server for its current version, and blocks until the cache has reached it.
// A version older than the cache's shows that the history was undone. The cache is then relisted,
// because the API server accepts a watch from a version that it has not reached yet, and sends
// nothing. caughtUp reports whether there is nothing more to wait for: the cache is current, or
// another watch must be opened first.
func (v *verifier) caughtUp(ctx context.Context) bool {
	c := v.cache
	c.mu.RLock()
	following, synced, lastSeq, cached := c.following, c.state.synced, c.feed.last, c.feed.version
	c.mu.RUnlock()
	if !following.open || !synced {
		return true // called again when a watch is open
	}
	requested := time.Now()
	version, err := c.history.current(ctx)
	switch {
	case err != nil:
		return false
	case object.Older(version, cached) && following.listing:
		return false // the list shows the present state
	case object.Older(version, cached): // etcd was restored from a backup
		c.history.relist()
		return true
	}
	await := c.awaitFeed
	if v.isListedNamespace() {
		await = c.await // its feed can be behind for long, see verifier
	}
	reached, err := await(ctx, version, catchUpTimeout)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.following.disruptions != following.disruptions:
		return true
	case !reached && (c.following.listing || c.feed.last != lastSeq):
		return false
	}
	c.following.current, c.following.asOf, c.following.refused = true, requested, false
	return true
}
