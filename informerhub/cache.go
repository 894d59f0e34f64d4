package informerhub

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Cache is the live state of one resource. Its methods are safe for concurrent use.
//
// Its only writer is client-go's Reflector, through the methods of cache.ReflectorStore.
type Cache struct {
	selector
	history  history // nil in tests of the cache alone
	activity *activity

	started    time.Time
	isPrivate  bool
	beginnings beginnings // of watches

	needsCatchUp chan struct{} // has a value after a watch was opened or a list was applied
	bookmarked   chan struct{} // has a value after a bookmark arrived
	needsCheck   chan struct{} // has a value after unchecked was set

	historySilentAt time.Time // when the API server last failed to return its history; guarded by historyMu
	expiredVersion  string    // a version that the API server's history no longer covers; guarded by historyMu
	expiredAt       time.Time // when that version was requested

	// incompleteUntil is the time until which AwaitComplete does not wait, in nanoseconds of Unix
	// time.
	incompleteUntil atomic.Int64

	progressBy atomic.Int32 // how the API server reports its progress

	historyMu   sync.Mutex // held while history is requested; taken before mu
	progressMu  sync.Mutex // held while progress is requested; taken before mu
	listAgainAt time.Time  // when the API server may be asked for a list again; guarded by progressMu

	// mu guards the fields below. No other lock than that of the feed's rewinds is taken while it is
	// held.
	mu            sync.RWMutex
	store         *store
	feed          *feed
	state         state
	snapshots     int    // number of complete snapshots received
	failures      uint64 // number of failed attempts to list or watch
	following     following
	wantedVersion string // the oldest version since which a watcher needs history
	// changed is closed and replaced when state changes.
	changed chan struct{}
}

// state is the relation of a cache to the API server.
type state struct {
	synced  bool  // the cache has received a complete snapshot
	failure error // why the last attempt to reach the API server failed; nil if it succeeded
	// lastFailure is the last failure, whether or not a later attempt succeeded; nil when synced.
	lastFailure error
	ended       error // why the cache has ended for good; nil while it runs
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

// maxTombstones bounds the deletions of one resource that are retained. A watcher that resumes from
// before the oldest of them receives a snapshot.
const maxTombstones = 1 << 16

func newCache(resource Resource, limits limits, activity *activity) *Cache {
	c := &Cache{
		selector:     selector{resource: resource},
		activity:     activity,
		started:      time.Now(),
		store:        newStore(),
		feed:         newFeed(limits),
		following:    following{asOf: time.Now()},
		needsCatchUp: make(chan struct{}, 1),
		changed:      make(chan struct{}),

		bookmarked: make(chan struct{}, 1),
		needsCheck: make(chan struct{}, 1),
	}
	c.feed.watchers.flush = c.flush
	return c
}

// flush wakes the watchers of a group whose changes were held back.
func (c *Cache) flush(group *watcherGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if group.throttle.active {
		group.wake(time.Now())
	}
}

// watched reports whether the cache has watchers.
func (c *Cache) watched() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.feed.watchers.groups) > 0
}

// Resource returns the cached resource.
func (c *Cache) Resource() Resource { return c.resource }

// Get returns one object, or a NotFound error.
func (c *Cache) Get(namespace, name string) (*Object, error) {
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
func (c *Cache) List(ctx context.Context, sel *Selection) (Snapshot, error) {
	if err := c.checkSelection(sel); err != nil {
		return Snapshot{}, err
	}
	return c.candidates(sel).match(ctx, sel)
}

func (c *Cache) candidates(sel *Selection) candidates {
	c.mu.RLock()
	defer c.mu.RUnlock()
	position := c.feed.position(time.Now())
	position.Version = c.feed.reached()
	return candidates{c.store.candidates(sel, nil), position, c.feed.isComplete(position.Version)}
}

// watchFrom returns the version to watch from, given the last version that was seen. The API server
// sends only what is newer than the requested version, so the version of the last deletion is not
// used: other deletions at it would be missed.
func (c *Cache) watchFrom(version string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version == c.feed.version {
		return c.feed.closed
	}
	return version
}

// reachedVersion returns the version that the cache has reached; empty before the first snapshot.
func (c *Cache) reachedVersion() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feed.version
}

func (c *Cache) setStateLocked(next state) {
	c.state = next
	close(c.changed)
	c.changed = make(chan struct{})
}

// recordSuccess records a successful response of the API server.
func (c *Cache) recordSuccess() {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state
	next.failure = nil
	c.setStateLocked(next)
}

// recordFailure records a failed attempt to reach the API server.
func (c *Cache) recordFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state
	next.failure = err
	if !next.synced {
		next.lastFailure = err
	}
	c.failures++
	c.recordRefusalLocked(err)
	c.setStateLocked(next)
}

// hasEnded reports whether the cache has ended for good.
func (c *Cache) hasEnded() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.ended != nil
}

// end ends the cache and all its watchers for good. Only the first reason is kept.
func (c *Cache) end(err error) {
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
func (c *Cache) applyLocked(changes ...change) {
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
func (c *Cache) Add(object any) error { return c.Update(object) }

// Update implements cache.ReflectorStore.
func (c *Cache) Update(item any) error {
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
func (c *Cache) Delete(item any) error {
	deleted := item.(*Object)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.store.get(deleted.Namespace(), deleted.Name()); before != nil {
		c.applyLocked(change{before: before, version: deleted.ResourceVersion()})
	}
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (c *Cache) Bookmark(version string) error {
	c.progressBy.Store(byBookmarks)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.advance(version)
	select {
	case c.bookmarked <- struct{}{}:
	default:
	}
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (c *Cache) Resync() error { return nil }

// Replace implements cache.ReflectorStore: it applies a complete snapshot. The first snapshot
// begins a new epoch, and so does one from a history in which delivered changes were undone (an API
// server restored from a backup). Any other snapshot is converted to the changes from the previous
// state, unless these have no version of their own: see rewritesLocked.
func (c *Cache) Replace(items []any, version string) error {
	objects := readable(items)
	sortObjects(objects)
	changes := c.changesTo(objects, version)
	c.logSnapshot(c.replace(objects, changes, version), len(objects), len(changes))
	return nil
}

// replace takes over a snapshot, which differs by changes from the delivered state.
func (c *Cache) replace(objects []*Object, changes []change, version string) (taken takeover) {
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
func (c *Cache) changesTo(objects []*Object, version string) []change {
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
func (c *Cache) continuesLocked(changes []change, version string) bool {
	if !c.state.synced || object.Older(version, c.feed.version) {
		return false
	}
	return !c.rewritesLocked(changes, version) && !slices.ContainsFunc(changes, func(change change) bool {
		return change.after != nil && !change.keepsVersion() && !object.Older(c.feed.version, change.after.ResourceVersion())
	})
}

func (c *Cache) startOverLocked(objects []*Object, version string) {
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

func (c *Cache) applyRelistLocked(changes []change, version string) {
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
func (c *Cache) rewritesLocked(changes []change, version string) bool {
	return !object.Older(c.feed.version, version) && slices.ContainsFunc(changes, change.keepsVersion)
}

func readable(items []any) []*Object {
	objects := make([]*Object, 0, len(items))
	for _, item := range items {
		if object := item.(*Object); object.Name() != "" {
			objects = append(objects, object)
		}
	}
	return objects
}

// changesBetween returns the changes between two states of an object of one name: none if they are
// equal, and a deletion and a creation if the UIDs differ.
func changesBetween(before, after *Object) []change {
	switch {
	case before == nil:
		return []change{{after: after, version: after.ResourceVersion()}}
	case before.UID() != after.UID():
		return []change{{before: before, version: after.ResourceVersion()}, {after: after, version: after.ResourceVersion()}}
	case before.ResourceVersion() == after.ResourceVersion():
		return nil
	}
	return []change{{before: before, after: after, version: after.ResourceVersion()}}
}

// relistedChanges returns the changes between a state of an object and its state in a later
// snapshot. The content of an object can change without its version: when the schema or the
// conversion of a CRD changes, or when the API server is another release with other defaults.
func relistedChanges(before, after *Object, version string) []change {
	if before.UID() == after.UID() && before.ResourceVersion() == after.ResourceVersion() && !before.SameContent(after) {
		return []change{{before: before, after: after, version: version}}
	}
	return changesBetween(before, after)
}

// keepsVersion reports whether only the object's content has changed, at the same version.
func (c change) keepsVersion() bool {
	return c.before != nil && c.after != nil && c.before.ResourceVersion() == c.after.ResourceVersion()
}

// diffSnapshots returns the changes between two snapshots, in the order of resource versions. Both
// snapshots must be in order of namespace and name. Deletions, whose versions are unknown, and
// changes of the content alone come last, at the version of the later snapshot.
func diffSnapshots(before, after []*Object, version string) []change {
	var changes []change
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			changes = append(changes, change{before: before[0], version: version})
			before = before[1:]
		case order > 0:
			changes = append(changes, changesBetween(nil, after[0])...)
			after = after[1:]
		default:
			changes = append(changes, relistedChanges(before[0], after[0], version)...)
			before, after = before[1:], after[1:]
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return object.CompareVersions(a.version, b.version)
	})
	return changes
}

// compareFirst compares the first objects of two ordered slices. An empty slice sorts last.
func compareFirst(a, b []*Object) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return a[0].Compare(b[0].Namespace(), b[0].Name())
}
