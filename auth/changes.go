package auth

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// propagationGrace is how long after a change of RBAC was seen here the API servers may still
	// decide by the old state. Their authorizers follow RBAC by watches of their own, so either
	// side can see a change first.
	propagationGrace = 5 * time.Second
	// propagationTTL is how long a decision from that time is cached, because it can be from before
	// the change.
	propagationTTL = 500 * time.Millisecond
	// stableAfter is how long after a change decisions about its subjects are not cached for
	// longer than those that do not follow from RBAC. It bounds the delay of an API server's watch.
	stableAfter = time.Minute
	// announceInterval is the minimum time between two announcements, independent of the number of
	// changes.
	announceInterval = 500 * time.Millisecond
	// maxSubjects bounds the subjects whose last change is recorded. Above that, all subjects are
	// treated as changed.
	maxSubjects = 10000
)

// reannounceDelays are the times after a change at which it is announced again, because earlier
// decisions can be from before the change.
var reannounceDelays = []time.Duration{time.Second, propagationGrace}

// subject is the user or group that a binding grants permissions to. A service account is the user
// that it acts as.
type subject struct {
	group bool
	name  string
}

// subjectsOf returns the subjects that an identity matches.
func subjectsOf(identity Identity) []subject {
	subjects := make([]subject, 0, 1+len(identity.Groups))
	subjects = append(subjects, subject{name: identity.Username})
	for _, group := range identity.Groups {
		subjects = append(subjects, subject{group: true, name: group})
	}
	return subjects
}

// changeNotifier records when the permissions of which subjects changed, and announces changes. A
// decision about a caller is valid if it was requested after the last change of the caller's
// subjects. Its methods are safe for concurrent use.
type changeNotifier struct {
	pendingNote chan struct{} // has an element when there is a change to announce

	mu               sync.RWMutex // guards the fields below
	bySubject        map[subject]time.Time
	allChanged       time.Time
	lastChange       time.Time // the time of the last change
	lastAnnounced    time.Time // the time of the last announcement
	unannounced      bool      // whether the last change has not been announced yet
	nextAnnouncement chan struct{}
}

func newChangeNotifier() *changeNotifier {
	return &changeNotifier{
		pendingNote:      make(chan struct{}, 1),
		bySubject:        make(map[subject]time.Time),
		nextAnnouncement: make(chan struct{}),
	}
}

// note records that the permissions of subjects have changed. Without subjects, it only announces
// that something else must be re-checked.
func (c *changeNotifier) note(subjects ...subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastChange, c.unannounced = time.Now(), true
	for _, subject := range subjects {
		c.bySubject[subject] = c.lastChange
	}
	if len(c.bySubject) > maxSubjects {
		c.allChanged = c.lastChange
		clear(c.bySubject)
	}
	select {
	case c.pendingNote <- struct{}{}:
	default:
	}
}

// lastOf returns the time of the last change of any of the subjects.
func (c *changeNotifier) lastOf(subjects []subject) time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	last := c.allChanged
	if len(c.bySubject) == 0 {
		return last
	}
	for _, subject := range subjects {
		if changed := c.bySubject[subject]; changed.After(last) {
			last = changed
		}
	}
	return last
}

// next returns a channel that is closed at the next announcement.
func (c *changeNotifier) next() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nextAnnouncement
}

// run announces changes until the context is done.
func (c *changeNotifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.pendingNote:
		case <-c.due():
			c.announce()
		}
	}
}

// due returns a channel that fires when an announcement is due, or nil if none is.
func (c *changeNotifier) due() <-chan time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.unannounced {
		return time.After(time.Until(c.lastAnnounced.Add(announceInterval)))
	}
	for _, after := range reannounceDelays {
		if due := c.lastChange.Add(after); c.lastAnnounced.Before(due) && !c.lastChange.IsZero() {
			return time.After(time.Until(due))
		}
	}
	return nil
}

func (c *changeNotifier) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastAnnounced, c.unannounced = time.Now(), false
	close(c.nextAnnouncement)
	c.nextAnnouncement = make(chan struct{})
}

// ttl returns how long a decision is cached that was requested at the time requested, if the last
// change before it was at the time changed.
func ttl(usual time.Duration, requested, changed time.Time) time.Duration {
	if requested.Sub(changed) < propagationGrace {
		return min(usual, propagationTTL)
	}
	return usual
}

// followedTTL is ttl for a decision that stays valid while RBAC is followed. It subtracts a random
// part, up to half, so that decisions that were requested together do not expire together.
func followedTTL(usual time.Duration, requested, changed time.Time) time.Duration {
	if requested.Sub(changed) < stableAfter {
		return 0
	}
	return usual - rand.N(usual/2+1)
}
