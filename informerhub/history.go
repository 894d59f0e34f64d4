package informerhub

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

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
	// hasBeen reports whether the API server has reached a version.
	hasBeen(ctx context.Context, version string) (bool, error)
	// deletions returns the deletions between two versions, oldest first.
	deletions(ctx context.Context, since, until string) ([]latest, error)
	// progress returns a version up to which there were only known events since another version. It
	// fails if there were others.
	progress(ctx context.Context, since string, known func(watch.Event) bool) (string, error)
	// relist makes the cache compare its state with a new list.
	relist()
}

// historySeconds bounds a watch of the API server's history. The API server sends a bookmark two
// seconds before the end of such a watch, so one second after its beginning. The bookmark shows
// that the history is complete.
const historySeconds = 3

// recall extends the feed's log back to a version, from the API server's watch history. If that
// fails, the stream resyncs.
//
// Only one request runs at a time, for the oldest version that any watcher waits for. Watchers that
// resume together after a restart are therefore served by at most two requests.
func (c *Cache) recall(ctx context.Context, version string) {
	if !c.forgotten(version) {
		return
	}
	c.recalling.Lock()
	defer c.recalling.Unlock()
	since, until := c.takeWanted(version)
	if until == "" || time.Since(c.unanswered) < historyPause {
		return
	}
	deleted, err := c.deletions(ctx, since, until)
	if err != nil && since != version {
		// The oldest version was too old. This version may not be.
		since = version
		deleted, err = c.deletions(ctx, since, until)
	}
	if errors.Is(err, errHistorySilent) {
		c.unanswered = time.Now()
	}
	if err != nil {
		return
	}
	c.remember(deleted, since, until)
}

// deletions requests the API server's history, unless the API server has recently reported that it
// does not reach back to that version: clients can send arbitrary old versions. recalling must be
// held.
func (c *Cache) deletions(ctx context.Context, since, until string) ([]latest, error) {
	if time.Since(c.expiredAt) < historyPause && !older(c.expired, since) {
		return nil, errHistoryExpired
	}
	deleted, err := c.history.deletions(ctx, since, until)
	if errors.Is(err, errHistoryExpired) {
		c.expired, c.expiredAt = strings.Clone(since), time.Now()
	}
	return deleted, err
}

// remember adds deletions to the known ones. There are no concurrent calls, because recalling must
// be held.
func (c *Cache) remember(deleted []latest, since, until string) {
	c.mu.RLock()
	known, epoch := c.feed.log.earlier, c.feed.epoch.id
	c.mu.RUnlock()
	earlier := slices.Concat(deleted, known)
	sortByVersion(earlier)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed.epoch.id == epoch {
		c.feed.log.remember(earlier, since, until)
	}
}

// forgotten reports whether deletions since a version were evicted or never known. If so, it
// records that a watcher needs them.
func (c *Cache) forgotten(version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.feed.locate(version); found || c.history == nil {
		return false
	}
	if older(version, c.feed.log.floor) && (c.wanted == "" || older(version, c.wanted)) {
		c.wanted = version
	}
	return true
}

// takeWanted returns the range of versions to request for a version: from the oldest version that
// any watcher waits for, if that also covers this one, up to the version from which on deletions
// are known. until is empty if they are already known.
func (c *Cache) takeWanted(version string) (since, until string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until = c.feed.log.unknown(version)
	if gap := c.feed.log.gapAt(version); gap != nil && until == gap.known {
		return gap.from, until
	}
	since, c.wanted = c.wanted, ""
	if since == "" || older(version, since) {
		since = version // another call took the wanted version, and failed
	}
	return since, until
}

// hasBeen reports whether the API server has reached a version that this cache has not, so that
// another replica may have issued it. Otherwise the version belongs to a history that was undone.
func (c *Cache) hasBeen(ctx context.Context, version string) (bool, error) {
	if ahead, err := c.behind(version); ahead == nil || err != nil {
		return false, err
	}
	if c.history == nil {
		return false, errNoHistory
	}
	return c.history.hasBeen(ctx, version)
}

var errNoHistory = errors.New("the cache has no API server to query")

const (
	// missesRemembered is the time for which the API server is not asked again about a version that
	// is far ahead of it.
	missesRemembered = 10 * time.Second
	// mostChanges is more than the number of changes that an API server can make in that time.
	mostChanges = 10_000_000
)

// hasBeen implements history. Clients can send arbitrary versions. So concurrent callers share one
// request, and a version that is far ahead is rejected without a request for a while. A version
// that is near needs a new request, because the API server may have reached it since.
func (u *upstream) hasBeen(ctx context.Context, version string) (bool, error) {
	if latest := u.versions.within(missesRemembered); latest != nil && isFarAhead(latest.answer, version) {
		return false, nil
	}
	current, err := u.versions.refresh(ctx)
	return err == nil && !older(current, version), err
}

// isFarAhead reports whether an API server at one version cannot soon reach another.
func isFarAhead(current, version string) bool {
	now, then := versionNumber(current), versionNumber(version)
	return now < math.MaxUint64-mostChanges && then > now+mostChanges
}

// askCurrent requests the current version for all callers that share the request.
func (u *upstream) askCurrent() (string, error) { return u.current(context.Background()) }

// current implements history.
func (u *upstream) current(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, historySeconds*time.Second)
	defer cancel()
	return listedVersion(ctx, u.request(metav1.ListOptions{Limit: 1}))
}

// since watches the events after a version, for at most historySeconds.
func (u *upstream) since(ctx context.Context, version string) (watch.Interface, error) {
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

var errHistoryEnded = errors.New("the API server ended its history early")

// errHistoryExpired is the error for a version that the API server no longer has.
var errHistoryExpired = errors.New("the API server's history does not go back that far")

// historyError distinguishes an expired version from other errors of the API server.
func historyError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errHistoryExpired
	}
	return err
}

// errHistorySilent is the error of a request during which the API server sent nothing that ends it.
var errHistorySilent = errors.New("the API server has not reported how far its history reaches")

// deletions implements history.
func (u *upstream) deletions(ctx context.Context, since, until string) ([]latest, error) {
	ctx, cancel := context.WithTimeout(ctx, (historySeconds+1)*time.Second)
	defer cancel()
	events, err := u.since(ctx, since)
	if err != nil {
		return nil, historyError(err)
	}
	defer events.Stop()
	began := time.Now()
	var deleted []latest
	for event := range events.ResultChan() {
		object, ok := event.Object.(*Object)
		if !ok {
			if err := historyError(apierrors.FromObject(event.Object)); err == errHistoryExpired {
				return nil, err
			}
			return nil, errHistoryEnded
		}
		if older(until, object.version) || event.Type == watch.Bookmark && object.version == until {
			return deleted, nil
		}
		if event.Type == watch.Deleted { // there may be others at its version
			deleted = append(deleted, latest{object: headOnly(object), deleted: true, version: object.version})
		}
	}
	if time.Since(began) < (historySeconds-1)*time.Second {
		return nil, errHistoryEnded
	}
	return nil, errHistorySilent
}
