package informerhub

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// The types of other packages that are in nearly every signature of this one.
type (
	// Object is an object of the cluster. It is immutable.
	Object = object.Object
	// Resource is a resource that the cluster serves. It is the key of its cache.
	Resource = object.Resource
)

// scopeCache is the live state of one resource, in all namespaces or in one. Its methods are safe for concurrent use; those
// that [Cache] has too are described there.
//
// Its only writer is client-go's Reflector, through the methods of cache.ReflectorStore.
//
// Locks are taken in this order, and none in the other direction:
//
//	Hub.mu, privateMemory.mu, verifier.mu, backfiller.mu
//	  └▶ scopeCache.mu
//	       └▶ rewinds.mu, link.mu, activity.mu
//
// The locks of the last line are held for a few assignments, and no other lock is taken while they are
// held. Nothing is requested, matched, encoded or logged under mu.
type scopeCache struct {
	// The fields of this group are set once, before the cache is used.
	resource   Resource
	namespace  string // empty for all
	selector   selector
	history    history // nil in tests of the cache alone
	activity   *activity
	verifier   *verifier
	backfiller *backfiller
	started    time.Time
	isPrivate  bool
	// snapshotTimeout bounds a caller's wait for the first snapshot.
	snapshotTimeout time.Duration

	beginnings beginnings // of watches

	waiting atomic.Int32 // number of callers that wait for the first snapshot

	// incompleteUntil is the time until which AwaitComplete does not wait, in nanoseconds of Unix
	// time.
	incompleteUntil atomic.Int64

	mu        sync.RWMutex // guards the fields below; see scopeCache for the order of locks
	store     *store
	feed      *feed
	state     state
	snapshots int    // number of complete snapshots received
	failures  uint64 // number of failed attempts to list or watch
	following following
	// changed is closed and replaced when state changes.
	changed chan struct{}
}

// state is the relation of a cache to the API server.
type state struct {
	synced  bool  // the cache has received a complete snapshot
	failure error // why the last attempt to reach the API server failed; nil if it succeeded
	// lastFailure is the last failure, whether or not a later attempt succeeded; nil when synced.
	lastFailure error
	retry       time.Time // when the attempt after failure follows, if the API server has asked to wait until then
	ended       error     // why the cache has ended for good; nil while it runs
}

// Snapshot is the content of a selection at one resource version.
type Snapshot struct {
	Objects         []*Object // in order of namespace and name; must not be changed
	ResourceVersion string
	Warnings        []string // for people
	// Position is the feed's position at the time of the snapshot.
	Position Position
	// Complete reports whether every change at ResourceVersion is known. If it is false, further
	// objects may have been deleted at the version of the last deletion.
	Complete bool
	// Examined is the number of objects that were matched against the selection: the cost of the
	// snapshot.
	Examined int
	unvalued unvaluedCount // the filter's part of Warnings
}

// Revision identifies the content of one cache at one time. Two equal revisions of caches are of the
// same content at the same resource version. Every change results in another revision: also a
// deletion at a version that the cache had already reached, a relist that finds another content of
// an object at its version, and a history that was undone. Caches of different replicas, and a
// cache that was evicted and started again, never have equal revisions.
type Revision struct {
	epoch   uint64 // random
	changes uint64 // see feed.last
	version string
}

// maxTombstones bounds the deletions of one resource that are retained. A watcher that resumes from
// before the oldest of them receives a snapshot.
const maxTombstones = 1 << 16

func newScopeCache(resource Resource, limits limits, activity *activity) *scopeCache {
	c := &scopeCache{
		resource:  resource,
		selector:  selector{resource: resource},
		activity:  activity,
		started:   time.Now(),
		store:     newStore(),
		feed:      newFeed(limits),
		following: following{asOf: time.Now()},
		changed:   make(chan struct{}),
	}
	c.snapshotTimeout = defaultSnapshotTimeout
	c.verifier, c.backfiller = newVerifier(c), &backfiller{cache: c}
	c.feed.watchers.flush = c.flush
	return c
}

// flush wakes the watchers of a group whose changes were held back.
func (c *scopeCache) flush(group *watcherGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if group.throttle.active {
		group.wake(time.Now())
	}
}

// watched reports whether the cache has watchers.
func (c *scopeCache) watched() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.feed.watchers.groups) > 0
}

// Select is described at [Cache.Select].
func (c *scopeCache) Select(ctx context.Context, query Query) (*Selection, error) {
	sel, err := c.selector.parse(ctx, query)
	if err != nil {
		return nil, err
	}
	return c.adopt(ctx, sel)
}

// adopt returns a selection of another scope of the same resource, or of none, as one of this cache.
func (c *scopeCache) adopt(ctx context.Context, sel *Selection) (*Selection, error) {
	adopted := *sel
	if err := c.index(ctx, &adopted); err != nil {
		return nil, err
	}
	adopted.cache = c
	return &adopted, nil
}

// checkSelection returns ErrForeignSelection unless the cache has made a selection.
func (c *scopeCache) checkSelection(sel *Selection) error {
	if sel.cache != c {
		return ErrForeignSelection
	}
	return nil
}

// Get returns one object, or a NotFound error.
func (c *scopeCache) Get(namespace, name string) (*Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object := c.store.get(namespace, name); object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(c.resource.GroupResource(), name)
}

// List returns the current content of a selection of this cache. It fails with a BadRequest error if the
// selection's filter costs too much for all objects together. Longer lists use processor slots, see
// [fairqueue.Begin], and end with the context.
func (c *scopeCache) List(ctx context.Context, sel *Selection) (Snapshot, error) {
	if err := c.checkSelection(sel); err != nil {
		return Snapshot{}, err
	}
	return c.candidates(sel).match(ctx, sel)
}

func (c *scopeCache) candidates(sel *Selection) candidates {
	c.mu.RLock()
	defer c.mu.RUnlock()
	position := c.feed.position(time.Now())
	position.Version = c.feed.reached()
	return candidates{c.store.candidates(sel, nil), position, c.feed.isComplete(position.Version)}
}

// Revision returns the revision of the cache. A read that begins afterwards returns this revision's
// content or a newer one.
func (c *scopeCache) Revision() Revision {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Revision{c.feed.epoch.id, c.feed.last, c.feed.version}
}

// watch returns a watcher of a selection of this cache.
func (c *scopeCache) watch(sel *Selection, options WatchOptions) *scopeWatcher {
	if options.Bookmarks <= 0 {
		options.Bookmarks = defaultBookmarks
	}
	return &scopeWatcher{cache: c, selection: sel, options: options}
}

func (c *scopeCache) status() Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	namespaces := 0
	if c.namespace != "" {
		namespaces = 1
	}
	return Status{
		Resource: c.resource, Namespaces: namespaces,

		Synced:    c.state.synced,
		Freshness: c.freshnessLocked(),
		Version:   c.feed.version,
		Objects:   c.store.count,
		Bytes:     c.store.bytes,
		Watchers:  c.feed.watchers.watchers,
		Changes:   c.feed.end().seq,
		Relists:   max(0, c.snapshots-1),

		Beginnings: c.beginnings.numbers(),

		WindowSince:    c.feed.knownSince(),
		Rejected:       c.following.refused,
		Failures:       c.failures,
		RelistingSince: c.following.relisting,
	}
}

// retainedBytes returns the approximate size of the cache. The objects of the window's changes are
// counted in addition to those of the store, although some are the same.
func (c *scopeCache) retainedBytes() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.store.bytes + c.feed.window.bytes + c.feed.rewinds.size()
}

// undone reports whether a position lies in a history that is not this cache's.
func (c *scopeCache) undone(p Position) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.undone(p)
}

// uncheckedSince is that of the cache's feed.
func (c *scopeCache) uncheckedSince(p Position) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.uncheckedSince(p)
}

// watchFrom returns the version to watch from, given the last version that was seen. The API server
// sends only what is newer than the requested version, so the version of the last deletion is not
// used: other deletions at it would be missed.
func (c *scopeCache) watchFrom(version string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version == c.feed.version {
		return c.feed.closed
	}
	return version
}

// reachedVersion returns the version that the cache has reached; empty before the first snapshot.
func (c *scopeCache) reachedVersion() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.version
}

func (c *scopeCache) setStateLocked(next state) {
	c.state = next
	close(c.changed)
	c.changed = make(chan struct{})
}

// recordSuccess records a successful response of the API server.
func (c *scopeCache) recordSuccess() {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state
	next.failure = nil
	c.setStateLocked(next)
}

// recordFailure records a failed attempt to reach the API server.
func (c *scopeCache) recordFailure(err error) { c.recordThrottling(err, time.Time{}) }

// recordThrottling records an attempt that the API server has rejected until a time. The zero time is that of any other failure.
func (c *scopeCache) recordThrottling(err error, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state
	next.failure, next.retry = err, until
	if !next.synced {
		next.lastFailure = err
	}
	c.failures++
	c.recordRefusalLocked(err)
	c.setStateLocked(next)
}

// hasEnded reports whether the cache has ended for good.
func (c *scopeCache) hasEnded() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.ended != nil
}

// end ends the cache and all its watchers for good. Only the first reason is kept.
func (c *scopeCache) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state
	if next.ended == nil {
		next.ended = err
	}
	c.setStateLocked(next)
	c.feed.watchers.wakeAll(time.Now())
	c.feed.wakeWaiters()
}

// applyLocked applies changes to the store and appends them to the feed as one step. The order and
// some of the versions of changes found by a relist are unknown, so a stream cannot be resumed
// within the step.
func (c *scopeCache) applyLocked(changes ...change) {
	before := c.feed.end()
	defer func() { c.feed.settle(before, time.Now()) }()
	step, now, since := before.seq+uint64(len(changes)), time.Now().UnixNano(), c.completeAsOfLocked().UnixNano()
	for _, change := range changes {
		change.step, change.at, change.since = step, now, since
		if change.after != nil {
			at, isNew := c.store.put(change.after)
			c.feed.append(change, at, isNew)
			continue
		}
		c.feed.append(change, c.store.delete(change.before), false)
	}
}

// Add implements cache.ReflectorStore.
func (c *scopeCache) Add(object any) error { return c.Update(object) }

// Update implements cache.ReflectorStore.
func (c *scopeCache) Update(item any) error {
	after := item.(*Object)
	if after.Name() == "" {
		return nil // unreadable: see object.Codec
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyLocked(changesBetween(c.store.get(after.Namespace(), after.Name()), after)...)
	return nil
}

// Delete implements cache.ReflectorStore.
func (c *scopeCache) Delete(item any) error {
	deleted := item.(*Object)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.store.get(deleted.Namespace(), deleted.Name()); before != nil {
		c.applyLocked(change{before: before, version: deleted.ResourceVersion()})
	}
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (c *scopeCache) Bookmark(version string) error {
	c.verifier.reportsBy.Store(byBookmarks)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.advance(version)
	signal(c.verifier.bookmarked)
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (c *scopeCache) Resync() error { return nil }

// Replace implements cache.ReflectorStore: it applies a complete snapshot. The first snapshot
// begins a new epoch, and so does one from a history in which delivered changes were undone (an API
// server restored from a backup). Any other snapshot is converted to the changes from the previous
// state, unless these have no version of their own: see rewritesLocked.
func (c *scopeCache) Replace(items []any, version string) error {
	objects := readable(items)
	sortObjects(objects)
	changes := c.changesTo(objects, version)
	c.logSnapshot(c.replace(objects, changes, version), len(objects), len(changes))
	return nil
}

// replace takes over a snapshot, which differs by changes from the delivered state.
func (c *scopeCache) replace(objects []*Object, changes []change, version string) (taken takeover) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.continuesLocked(changes, version):
		taken = relisted
		c.applyRelistLocked(changes, version)
	case c.state.synced:
		taken = restarted
		c.startOverLocked(objects, version)
	default:
		c.startOverLocked(objects, version)
	}
	if before := versionBefore(version); before != "" {
		c.startedAfterLocked(before)
	}
	c.snapshots++
	c.setStateLocked(state{synced: true, ended: c.state.ended})
	c.listAppliedLocked()
	return taken
}

// changesTo returns the changes from the delivered state to a snapshot. It compares without the
// lock, because only the Reflector's goroutine changes the store.
func (c *scopeCache) changesTo(objects []*Object, version string) []change {
	c.mu.RLock()
	before, synced := c.store.all(), c.state.synced
	c.mu.RUnlock()
	if !synced {
		return nil
	}
	return diffSnapshots(before, objects, version)
}

// continuesLocked reports whether the snapshot continues the delivered history through changes. It
// returns false for the first snapshot and for one of another history. Everything up to the feed's
// version was delivered, so in the same history each object that has changed since is newer than
// that version. This also detects a restored backup whose versions have since grown past the
// feed's, naturally or by etcdutl's --bump-revision.
func (c *scopeCache) continuesLocked(changes []change, version string) bool {
	if !c.state.synced || object.Older(version, c.feed.version) {
		return false
	}
	return !c.rewritesLocked(changes, version) && !slices.ContainsFunc(changes, func(change change) bool {
		return change.after != nil && !change.keepsVersion() && !object.Older(c.feed.version, change.after.ResourceVersion())
	})
}

func (c *scopeCache) startOverLocked(objects []*Object, version string) {
	c.store = c.store.emptyCopy()
	entries := make([]*entry, len(objects))
	for i, object := range objects {
		entries[i], _ = c.store.put(object)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return object.CompareVersions(a.object.ResourceVersion(), b.object.ResourceVersion())
	})
	c.feed.restart(time.Now(), entries, version)
}

func (c *scopeCache) applyRelistLocked(changes []change, version string) {
	for i := range changes {
		changes[i].relisted = true
	}
	c.feed.log.recordGap(c.feed.closed, version)
	c.applyLocked(changes...)
	c.feed.completeList(version)
}

// rewritesLocked reports whether a relist has found another content of an object at a version that
// the feed had already reached. A stream that resumes at that version could hold either content, so
// the feed must begin a new epoch.
func (c *scopeCache) rewritesLocked(changes []change, version string) bool {
	return !object.Older(c.feed.version, version) && slices.ContainsFunc(changes, change.keepsVersion)
}

// takeover is the way in which a cache takes over a snapshot of the API server.
type takeover int

const (
	filled    takeover = iota // by the first snapshot
	relisted                  // as changes since the state before it
	restarted                 // as a new history: each watcher gets a RESET
)

// logStart logs the start of a cache.
func (c *scopeCache) logStart() { c.log(slog.LevelInfo, "cache started") }

// logEnd logs the end of a cache, and why it has ended.
func (c *scopeCache) logEnd(reason string) { c.log(slog.LevelInfo, "cache ended", "reason", reason) }

// logSnapshot logs a snapshot of the API server.
func (c *scopeCache) logSnapshot(taken takeover, objects, changes int) {
	switch taken {
	case filled:
		c.log(slog.LevelInfo, "cache filled", "objects", objects, "seconds", time.Since(c.started).Round(time.Millisecond).Seconds())
	case relisted:
		c.log(slog.LevelInfo, "cache relisted", "objects", objects, "changes", changes)
	case restarted:
		c.log(slog.LevelWarn, "cache begins a new history: all its watchers get a RESET", "objects", objects)
	}
}

// slowListInterval is the time after which a list that has not ended is logged, and logged again.
const slowListInterval = 30 * time.Second

// followList logs the list that began at a time as long as it has not ended.
func (c *scopeCache) followList(began time.Time) {
	time.AfterFunc(slowListInterval, func() {
		failure, isRunning := c.list(began)
		if !isRunning {
			return
		}
		attributes := []any{"seconds", time.Since(began).Round(time.Second).Seconds()}
		if failure != nil {
			attributes = append(attributes, "error", failure)
		}
		c.log(slog.LevelWarn, "the list of the API server takes long, or fails", attributes...)
		c.followList(began)
	})
}

// list returns whether the list that began at a time has not ended, and the error of the last attempt;
// nil if it has not failed.
func (c *scopeCache) list(began time.Time) (failure error, isRunning bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.failure, c.state.ended == nil && c.following.relisting.Equal(began)
}

// log logs about a cache. Of a private cache, which serves a single stream, everything is for debugging.
//
//nolint:contextcheck // a cache outlives the calls that use it
func (c *scopeCache) log(level slog.Level, message string, attributes ...any) {
	if c.isPrivate {
		level = slog.LevelDebug
	}
	about := []any{"resource", c.resource.String()}
	if c.namespace != "" {
		about = append(about, "namespace", c.namespace)
	}
	slog.Log(context.Background(), level, message, append(about, attributes...)...)
}
