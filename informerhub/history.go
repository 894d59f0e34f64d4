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

// A cache that has just started knows what there is, and since which version each
// object has been as it is, but not what was deleted before. Whoever comes with an
// older position needs that: the API server's own history tells it, as far back as
// that goes. So a restart of the service is not a storm of snapshots. The same goes for
// a position within a gap, of a replica that has followed the API server meanwhile.

// history is what the API server knows of the past.
type history interface {
	// current is the version that it has come to.
	current(ctx context.Context) (string, error)
	// hasBeen reports whether the API server has come to a version.
	hasBeen(ctx context.Context, version string) (bool, error)
	// deletions are what was deleted since a version up to another, oldest first.
	deletions(ctx context.Context, since, until string) ([]latest, error)
	// progress returns a version up to which nothing has happened since another one but
	// events that are known; an error if something else has.
	progress(ctx context.Context, since string, known func(watch.Event) bool) (string, error)
	// relist has the cache compare what it holds with a new list.
	relist()
}

// historySeconds is how long the API server may take to tell its history. It sends a
// bookmark two seconds before the end of such a watch, so one second from its beginning,
// which says that all is told.
const historySeconds = 3

// recall makes the feed's log reach back to a version, if the API server can tell
// what has happened since. Failing that, the stream begins anew.
//
// One asks at a time, for the oldest version that anyone waits for, so that those
// who come together after a restart are served by two questions at most.
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
		// The oldest version was too old. That need not go for this one.
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

// deletions asks the API server's history, unless it has said lately that it does not go back to
// that version: anyone can make an old version up. Recalling is held.
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

// remember adds deletions to those that are known. Nobody else does meanwhile: recalling is
// held.
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

// forgotten reports whether deletions since a version have been forgotten, or were
// never known, and notes that someone wants to know.
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

// takeWanted answers what is to be asked for a version: the oldest one that someone
// wants to continue at where this one is too, and the one from which on deletions are
// known. That is empty if they are known meanwhile.
func (c *Cache) takeWanted(version string) (since, until string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until = c.feed.log.unknown(version)
	if gap := c.feed.log.gapAt(version); gap != nil && until == gap.known {
		return gap.from, until
	}
	since, c.wanted = c.wanted, ""
	if since == "" || older(version, since) {
		since = version // another one has taken what was wanted, and got no answer
	}
	return since, until
}

// hasBeen reports whether a version that the cache has not reached has been the API
// server's, so that a replica which was ahead can have given it out. One that has
// not lies in a history that has been undone.
func (c *Cache) hasBeen(ctx context.Context, version string) (bool, error) {
	if ahead, err := c.behind(version); ahead == nil || err != nil {
		return false, err
	}
	if c.history == nil {
		return false, errNoHistory
	}
	return c.history.hasBeen(ctx, version)
}

var errNoHistory = errors.New("there is no API server to ask")

const (
	// missesRemembered is for how long the API server is not asked again whether it has come to a
	// version that is far ahead of it.
	missesRemembered = 10 * time.Second
	// mostChanges is more than an API server can make of changes in that time.
	mostChanges = 10_000_000
)

// hasBeen implements history. Anyone can make a version up, so those who ask share one question
// at a time, and what is far ahead is known without a question for a while. What is
// near must be asked for anew: the API server may have come to it since.
func (u *upstream) hasBeen(ctx context.Context, version string) (bool, error) {
	if latest := u.versions.within(missesRemembered); latest != nil && isFarAhead(latest.answer, version) {
		return false, nil
	}
	current, err := u.versions.refresh(ctx)
	return err == nil && !older(current, version), err
}

// isFarAhead reports whether an API server at one version cannot come to another soon.
func isFarAhead(current, version string) bool {
	now, then := versionNumber(current), versionNumber(version)
	return now < math.MaxUint64-mostChanges && then > now+mostChanges
}

// askCurrent asks for the version for all who share the question.
func (u *upstream) askCurrent() (string, error) { return u.current(context.Background()) }

// current implements history.
func (u *upstream) current(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, historySeconds*time.Second)
	defer cancel()
	return listedVersion(ctx, u.request(metav1.ListOptions{Limit: 1}))
}

// since watches what has happened since a version, for as long as history may take.
func (u *upstream) since(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64(historySeconds)
	return u.request(metav1.ListOptions{
		ResourceVersion:     version,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		Watch:               true,
	}).Watch(ctx)
}

// historyPause is for how long the API server is not asked again when it has said nothing,
// as it does of a quiet resource without bookmarks: each question takes historySeconds, and
// streams that wait for their turn hear nothing meanwhile.
const historyPause = 30 * time.Second

var errHistoryEnded = errors.New("the API server ended its history early")

// errHistoryExpired says that the API server has forgotten what was at a version.
var errHistoryExpired = errors.New("the API server's history does not go back that far")

// historyError tells that the API server has forgotten a version from its other errors.
func historyError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errHistoryExpired
	}
	return err
}

// errHistorySilent says that the API server has not answered in all the time that it had.
var errHistorySilent = errors.New("the API server has not said how far its history goes")

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
