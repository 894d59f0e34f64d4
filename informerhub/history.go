package informerhub

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
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

// backfill extends the feed's log back to a version, from the API server's watch history. If that
// fails, the stream resyncs.
//
// Only one request runs at a time, for the oldest version that any watcher waits for. Watchers that
// resume together after a restart are therefore served by at most two requests.
func (c *Cache) backfill(ctx context.Context, version string) {
	if !c.needsBackfill(version) {
		return
	}
	c.historyMu.Lock()
	defer c.historyMu.Unlock()
	since, until := c.takeWantedRange(version)
	if until == "" || time.Since(c.historySilentAt) < historyPause {
		return
	}
	deleted, err := c.deletions(ctx, since, until)
	if err != nil && since != version {
		// The oldest version was too old. This version may not be.
		since = version
		deleted, err = c.deletions(ctx, since, until)
	}
	if errors.Is(err, errHistorySilent) {
		c.historySilentAt = time.Now()
	}
	if err != nil {
		return
	}
	c.addBackfilled(deleted, since, until)
}

// deletions requests the API server's history, unless the API server has recently reported that it
// does not reach back to that version: clients can send arbitrary old versions. historyMu must be
// held.
func (c *Cache) deletions(ctx context.Context, since, until string) ([]latest, error) {
	if time.Since(c.expiredAt) < historyPause && !object.Older(c.expiredVersion, since) {
		return nil, errHistoryExpired
	}
	deleted, err := c.history.deletions(ctx, since, until)
	if errors.Is(err, errHistoryExpired) {
		c.expiredVersion, c.expiredAt = strings.Clone(since), time.Now()
	}
	return deleted, err
}

// addBackfilled adds deletions to the known ones. There are no concurrent calls, because historyMu
// must be held.
func (c *Cache) addBackfilled(deleted []latest, since, until string) {
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
func (c *Cache) needsBackfill(version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.feed.locate(version); found || c.history == nil {
		return false
	}
	if object.Older(version, c.feed.log.compactVersion) && (c.wantedVersion == "" || object.Older(version, c.wantedVersion)) {
		c.wantedVersion = version
	}
	return true
}

// takeWantedRange returns the range of versions to request for a version: from the oldest version
// that any watcher waits for, if that also covers this one, up to the version from which on
// deletions are known. until is empty if they are already known.
func (c *Cache) takeWantedRange(version string) (since, until string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until = c.feed.log.missingUntil(version)
	if gap := c.feed.log.gapAt(version); gap != nil && until == gap.knownSince {
		return gap.from, until
	}
	since, c.wantedVersion = c.wantedVersion, ""
	if since == "" || object.Older(version, since) {
		since = version // another call took the wanted version, and failed
	}
	return since, until
}

// hasReached reports whether the API server has reached a version that this cache has not, so that
// another replica may have issued it. Otherwise the version belongs to a history that was undone.
func (c *Cache) hasReached(ctx context.Context, version string) (bool, error) {
	if advanced, err := c.notAt(version); advanced == nil || err != nil {
		return false, err
	}
	if c.history == nil {
		return false, errNoHistory
	}
	return c.history.hasReached(ctx, version)
}

const (
	// farAheadTTL is the time for which the API server is not asked again about a version that
	// is far ahead of it.
	farAheadTTL = 10 * time.Second
	// mostChanges is more than the number of changes that an API server can make in that time.
	mostChanges = 10_000_000
)

// hasReached implements history. Clients can send arbitrary versions. So concurrent callers share
// one request, and a version that is far ahead is rejected without a request for a while. A version
// that is near needs a new request, because the API server may have reached it since.
func (u *upstream) hasReached(ctx context.Context, version string) (bool, error) {
	if latest, ok := u.versions.LastWithin(farAheadTTL); ok && isFarAhead(latest, version) {
		return false, nil
	}
	current, err := u.versions.Fresh(ctx)
	return err == nil && !object.Older(current, version), err
}

// isFarAhead reports whether an API server at one version cannot soon reach another.
func isFarAhead(current, version string) bool {
	reached, requested := object.VersionNumber(current), object.VersionNumber(version)
	return reached < math.MaxUint64-mostChanges && requested > reached+mostChanges
}

// askCurrent requests the current version for all callers that share the request.
func (u *upstream) askCurrent() (string, error) { return u.current(context.Background()) }

// current implements history.
func (u *upstream) current(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, historySeconds*time.Second)
	defer cancel()
	return listedVersion(ctx, u.request(metav1.ListOptions{Limit: 1}))
}

// watchSince watches the events after a version, for at most historySeconds.
func (u *upstream) watchSince(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64(historySeconds)
	return u.request(metav1.ListOptions{
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		Watch:               true,
	}).Watch(ctx)
}

// historyPause is the time for which the history is not requested again after the API server sent
// nothing. It sends nothing for a quiet resource without bookmarks. Each such request takes
// historySeconds, and waiting streams receive nothing meanwhile.
const historyPause = 30 * time.Second

// historyError distinguishes an expired version from other errors of the API server.
func historyError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errHistoryExpired
	}
	return err
}

// deletions implements history.
//
// The API server sends a bookmark only if it is newer than the last event. If the last change of
// the resource is the last change of the cluster too, that event ends the history.
func (u *upstream) deletions(ctx context.Context, since, until string) ([]latest, error) {
	ctx, cancel := context.WithTimeout(ctx, (historySeconds+1)*time.Second)
	defer cancel()
	events, err := u.watchSince(ctx, since)
	if err != nil {
		return nil, historyError(err)
	}
	defer events.Stop()
	began, reached := time.Now(), since
	var deleted []latest
	for event := range events.ResultChan() {
		state, ok := event.Object.(*Object)
		if !ok {
			if err := historyError(apierrors.FromObject(event.Object)); err == errHistoryExpired {
				return nil, err
			}
			return nil, errHistoryEnded
		}
		reached = state.ResourceVersion()
		// There may be other deletions at the version of a deletion.
		if object.Older(until, reached) || reached == until && event.Type != watch.Deleted {
			return deleted, nil
		}
		if event.Type == watch.Deleted {
			deleted = append(deleted, latest{object: state.HeadOnly(), deleted: true, version: state.ResourceVersion()})
		}
	}
	switch {
	case time.Since(began) < (historySeconds-1)*time.Second:
		return nil, errHistoryEnded
	case reached == until: // the API server has sent all deletions at this version meanwhile
		return deleted, nil
	}
	return nil, errHistorySilent
}
