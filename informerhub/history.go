package informerhub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// A cache that has just started has the present objects and the version of each object's last
// change, but not the earlier deletions. A watcher that resumes from an older position needs them.
// The API server's watch history contains them, as far back as it reaches. A restart of the service
// therefore does not cause a storm of snapshots. The same applies to a position within a gap, from
// a replica that has followed the API server meanwhile.

// history is the API server's knowledge of the past.
type history interface {
	// current returns the API server's current version.
	current(ctx context.Context) (string, error)
	// newest returns a version that is not older than any change before the call. Concurrent callers share the request.
	newest(ctx context.Context) (string, error)
	// hasReached reports whether the API server has reached a version.
	hasReached(ctx context.Context, version string) (bool, error)
	// deletions returns the deletions between two versions, oldest first.
	deletions(ctx context.Context, since, until string) ([]latest, error)
	// progress returns a version up to which there were only known events since another version. It
	// fails if there were others, and with errNoBookmarks if the API server sends no bookmarks.
	progress(ctx context.Context, since string, known func(watch.Event) bool) (string, error)
	// listed returns what the API server has now, without the contents.
	listed(ctx context.Context) (listedState, error)
	// relist makes the cache compare its state with a new list.
	relist()
}

// historySeconds bounds a watch of the API server's history. The API server sends a bookmark two
// seconds before the end of such a watch, so one second after its beginning. The bookmark shows
// that the history is complete.
const historySeconds = 3

// backfiller extends the log of a cache's feed back, from the API server's watch history, for
// watchers that resume.
type backfiller struct {
	cache *scopeCache

	mu             sync.Mutex // held while history is requested, and guards the fields below
	silentAt       time.Time  // when the API server last failed to return its history
	expiredVersion string     // a version that the API server's history no longer covers
	expiredAt      time.Time  // when that version was requested

	wantedVersion string // the oldest version since which a watcher needs history; guarded by the cache's mu
}

// backfill extends the feed's log back to a version, from the API server's watch history. If that
// fails, the stream resyncs.
//
// Only one request runs at a time, for the oldest version that any watcher waits for. Watchers that
// resume together after a restart are therefore served by at most two requests.
func (b *backfiller) backfill(ctx context.Context, version string) {
	if !b.needsBackfill(version) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	since, until := b.takeWantedRange(version)
	if until == "" || time.Since(b.silentAt) < historyPause {
		return
	}
	deleted, err := b.deletions(ctx, since, until)
	if err != nil && since != version {
		// The oldest version was too old. This version may not be.
		since = version
		deleted, err = b.deletions(ctx, since, until)
	}
	if errors.Is(err, errHistorySilent) {
		b.silentAt = time.Now()
	}
	if err != nil {
		return
	}
	b.addBackfilled(deleted, since, until)
}

// deletions requests the API server's history, unless the API server has recently reported that it
// does not reach back to that version: clients can send arbitrary old versions. mu must be held.
func (b *backfiller) deletions(ctx context.Context, since, until string) ([]latest, error) {
	if time.Since(b.expiredAt) < historyPause && !object.Older(b.expiredVersion, since) {
		return nil, errHistoryExpired
	}
	deleted, err := b.cache.history.deletions(ctx, since, until)
	if errors.Is(err, errHistoryExpired) {
		b.expiredVersion, b.expiredAt = strings.Clone(since), time.Now()
	}
	return deleted, err
}

// addBackfilled adds deletions to the known ones. There are no concurrent calls, because mu must be
// held.
func (b *backfiller) addBackfilled(deleted []latest, since, until string) {
	c := b.cache
	c.mu.RLock()
	known, epoch := c.feed.log.backfilled, c.feed.epoch.id
	c.mu.RUnlock()
	backfilled := slices.Concat(deleted, known)
	sortByVersion(backfilled)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed.epoch.id == epoch {
		c.feed.log.backfill(backfilled, since, until)
	}
}

// needsBackfill reports whether deletions since a version were evicted or never known. If so, it
// records that a watcher needs them.
func (b *backfiller) needsBackfill(version string) bool {
	c := b.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.feed.locate(version); found || c.history == nil {
		return false
	}
	if object.Older(version, c.feed.log.compactVersion) && (b.wantedVersion == "" || object.Older(version, b.wantedVersion)) {
		b.wantedVersion = version
	}
	return true
}

// takeWantedRange returns the range of versions to request for a version: from the oldest version
// that any watcher waits for, if that also covers this one, up to the version from which on
// deletions are known. until is empty if they are already known.
func (b *backfiller) takeWantedRange(version string) (since, until string) {
	c := b.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	until = c.feed.log.missingUntil(version)
	if gap := c.feed.log.gapAt(version); gap != nil && until == gap.knownSince {
		return gap.from, until
	}
	since, b.wantedVersion = b.wantedVersion, ""
	if since == "" || object.Older(version, since) {
		since = version // another call took the wanted version, and failed
	}
	return since, until
}

// historyPause is the time for which the history is not requested again after the API server sent
// nothing. It sends nothing for a quiet resource without bookmarks. Each such request takes
// historySeconds, and waiting streams receive nothing meanwhile.
const historyPause = 30 * time.Second
