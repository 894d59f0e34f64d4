package auth

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// settling is how long after a change of rights was seen here the API servers are
	// given to have seen it too. Their authorizers follow RBAC by watches of their own,
	// so either side may be first.
	settling = 5 * time.Second
	// settlingTTL is how long an answer is remembered that was given meanwhile: it may be
	// from before the change.
	settlingTTL = 500 * time.Millisecond
	// settledAfter is how long after a change its answers are asked for again like those that do not follow
	// from RBAC: an API server may be that far behind.
	settledAfter = time.Minute
	// tellingInterval is how often a change is told at most, however many there are.
	tellingInterval = 500 * time.Millisecond
	// maxSubjects bounds the subjects whose last change is remembered. Above that,
	// everyone's rights count as changed.
	maxSubjects = 10000
)

// retelling is when a change is told again, for the answers that are got at first may be
// from before it.
var retelling = []time.Duration{time.Second, settling}

// subject is whom a binding gives rights to: a user or a group. A service account is the
// user that it acts as.
type subject struct {
	group bool
	name  string
}

// subjectsOf are those that an identity is.
func subjectsOf(identity Identity) []subject {
	subjects := make([]subject, 0, 1+len(identity.Groups))
	subjects = append(subjects, subject{name: identity.Username})
	for _, group := range identity.Groups {
		subjects = append(subjects, subject{group: true, name: group})
	}
	return subjects
}

// changes are those of rights: whose have changed when, and the telling of that. An
// answer about somebody is good for as long as it was asked for after the last change
// of theirs. Its methods are safe for concurrent use.
type changes struct {
	noted chan struct{} // holds one when something is to be told

	mu       sync.RWMutex // guards the fields below
	ofOne    map[subject]time.Time
	ofAll    time.Time
	latest   time.Time // the last change
	told     time.Time // when something was told last
	untold   bool      // whether the last change has not been told at all
	nextTold chan struct{}
}

func newChanges() *changes {
	return &changes{noted: make(chan struct{}, 1), ofOne: make(map[subject]time.Time), nextTold: make(chan struct{})}
}

// note says that rights of subjects have changed, or, without any, something else that
// is to be looked at again.
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

// last is when the rights of any of the subjects changed last.
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

// next is closed when changes are told the next time.
func (c *changes) next() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nextTold
}

// run tells changes until the context ends.
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

// due fires when something is to be told; never, if nothing is.
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

// ttl is how long an answer may be remembered that was asked for at a time, when the
// last change before it was at another.
func ttl(usual time.Duration, asked, changed time.Time) time.Duration {
	if asked.Sub(changed) < settling {
		return min(usual, settlingTTL)
	}
	return usual
}

// followedTTL is the same for an answer that is good for longer while changes are followed. By chance
// it is up to half as long, so that answers which were got together are not asked for together.
func followedTTL(usual time.Duration, asked, changed time.Time) time.Duration {
	if asked.Sub(changed) < settledAfter {
		return 0
	}
	return usual - rand.N(usual/2+1)
}
