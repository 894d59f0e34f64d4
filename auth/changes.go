package auth

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// settling is how long after a change of RBAC was seen here the API servers may still decide by
	// the old state. Their authorizers follow RBAC by watches of their own, so either side can see
	// a change first.
	settling = 5 * time.Second
	// settlingTTL is how long a decision from that time is cached, because it can be from before
	// the change.
	settlingTTL = 500 * time.Millisecond
	// settledAfter is how long after a change decisions about its subjects are not cached for
	// longer than those that do not follow from RBAC. It bounds the delay of an API server's watch.
	settledAfter = time.Minute
	// tellingInterval is the minimum time between two announcements, independent of the number of
	// changes.
	tellingInterval = 500 * time.Millisecond
	// maxSubjects bounds the subjects whose last change is recorded. Above that, all subjects are
	// treated as changed.
	maxSubjects = 10000
)

// retelling are the times after a change at which it is announced again, because earlier decisions
// can be from before the change.
var retelling = []time.Duration{time.Second, settling}

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

// changes records when the permissions of which subjects changed, and announces changes. A decision
// about a caller is valid if it was requested after the last change of the caller's subjects. Its
// methods are safe for concurrent use.
type changes struct {
	noted chan struct{} // has an element when there is a change to announce

	mu       sync.RWMutex // guards the fields below
	ofOne    map[subject]time.Time
	ofAll    time.Time
	latest   time.Time // the time of the last change
	told     time.Time // the time of the last announcement
	untold   bool      // whether the last change has not been announced yet
	nextTold chan struct{}
}

func newChanges() *changes {
	return &changes{noted: make(chan struct{}, 1), ofOne: make(map[subject]time.Time), nextTold: make(chan struct{})}
}

// note records that the permissions of subjects have changed. Without subjects, it only announces
// that something else must be re-checked.
func (c *changes) note(subjects ...subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest, c.untold = time.Now(), true
	for _, subject := range subjects {
		c.ofOne[subject] = c.latest
	}
	if len(c.ofOne) > maxSubjects {
		c.ofAll = c.latest
		clear(c.ofOne)
	}
	select {
	case c.noted <- struct{}{}:
	default:
	}
}

// last returns the time of the last change of any of the subjects.
func (c *changes) last(subjects []subject) time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	last := c.ofAll
	if len(c.ofOne) == 0 {
		return last
	}
	for _, subject := range subjects {
		if changed := c.ofOne[subject]; changed.After(last) {
			last = changed
		}
	}
	return last
}

// next returns a channel that is closed at the next announcement.
func (c *changes) next() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nextTold
}

// run announces changes until the context is done.
func (c *changes) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.noted:
		case <-c.due():
			c.tell()
		}
	}
}

// due returns a channel that fires when an announcement is due, or nil if none is.
func (c *changes) due() <-chan time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.untold {
		return time.After(time.Until(c.told.Add(tellingInterval)))
	}
	for _, after := range retelling {
		if again := c.latest.Add(after); c.told.Before(again) && !c.latest.IsZero() {
			return time.After(time.Until(again))
		}
	}
	return nil
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told, c.untold = time.Now(), false
	close(c.nextTold)
	c.nextTold = make(chan struct{})
}

// ttl returns how long a decision is cached that was requested at the time asked, if the last
// change before it was at the time changed.
func ttl(usual time.Duration, asked, changed time.Time) time.Duration {
	if asked.Sub(changed) < settling {
		return min(usual, settlingTTL)
	}
	return usual
}

// followedTTL is ttl for a decision that stays valid while RBAC is followed. It subtracts a random
// part, up to half, so that decisions that were requested together do not expire together.
func followedTTL(usual time.Duration, asked, changed time.Time) time.Duration {
	if asked.Sub(changed) < settledAfter {
		return 0
	}
	return usual - rand.N(usual/2+1)
}
