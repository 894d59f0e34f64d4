package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// tripAfter is the number of reviews in a row without a decision after which a breaker opens. It also
	// opens when all reviews have failed for tripTime, because few callers cause few reviews, and each may
	// take lookupTimeout to fail.
	tripAfter = 5
	tripTime  = lookupTimeout
	// shownFor is the time for which a failure is shown. While callers or streams wait for a decision,
	// another review follows sooner. Without them none follows, and nothing shows that it would fail.
	shownFor = time.Minute
	// minProbePause and maxProbePause bound the time from a failed probe to the next one: the pause
	// doubles with each, and probeJitter of it is random, so that replicas do not probe together.
	minProbePause = 500 * time.Millisecond
	maxProbePause = 5 * time.Second
	probeJitter   = 0.2
	// recoveryRate and recoveryBurst bound the reviews each second after a breaker has closed, because
	// all open streams wait for a review then. The rate doubles after each recoveryStep, until fewer
	// reviews are requested.
	recoveryRate  = 100
	recoveryBurst = 10
	recoveryStep  = 5 * time.Second
	// minRecovery is the minimum time of a recovery: open streams may pause for some seconds before they
	// try again.
	minRecovery = 2 * recoveryStep
)

// breaker bounds the reviews of one kind that are sent to an API server which gives no decisions.
//
// It is closed at first: reviews pass. After tripAfter failures in a row, or tripTime with nothing but
// failures, it opens: reviews of new calls fail at once, and those of open streams wait. From time to
// time one review passes as a probe. The first response closes the breaker, and the waiting reviews
// pass at a bounded rate.
//
// Its methods are safe for concurrent use.
type breaker struct {
	name string // of the review; set once

	mu           sync.Mutex // guards the fields below
	failures     int        // since the last decision
	failingSince time.Time  // the time of the first of them
	failedAt     time.Time  // the time of the last of them
	decidedAt    time.Time  // the time of the last decision
	problem      string     // of the last failure
	unreachable  bool       // the API server was not reached for the last failure
	open         bool
	probing      bool          // a probe is under way
	pause        wait.Backoff  // until the next probe
	probeAt      time.Time     // the time of the next probe
	changed      chan struct{} // closed when open or probing changes
	recovering   *rate.Limiter // nil if the rate is not bounded
	closedAt     time.Time     // the time at which recovering began
}

func newBreaker(name string) *breaker { return &breaker{name: name, changed: make(chan struct{})} }

// blockedError reports that a review was not sent, because the breaker is open.
type blockedError struct {
	since   time.Time
	retryIn time.Duration
}

func (e *blockedError) Error() string {
	return fmt.Sprintf("the API server has not answered reviews for %s", time.Since(e.since).Round(time.Second))
}

// refuse returns a blockedError if the breaker is open and no probe is due, or nil.
func (b *breaker) refuse() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open && (b.probing || time.Now().Before(b.probeAt)) {
		return b.blockedLocked()
	}
	return nil
}

func (b *breaker) blockedLocked() error {
	return &blockedError{since: b.failingSince, retryIn: max(time.Until(b.probeAt), minProbePause)}
}

// pass blocks until a review may be sent. The caller must call done after the review, with the
// returned probe. If patient is false and the breaker is open, pass fails with a blockedError.
func (b *breaker) pass(ctx context.Context, patient bool) (probe bool, err error) {
	for {
		b.mu.Lock()
		due := time.Until(b.probeAt)
		changed, blocked := b.changed, b.blockedLocked()
		switch {
		case !b.open:
			recovering := b.recoveringLocked()
			b.mu.Unlock()
			return false, awaitRecovery(ctx, recovering, patient)
		case !b.probing && due <= 0:
			b.setLocked(true, true)
			b.mu.Unlock()
			return true, nil
		case b.probing:
			due = maxProbePause // changed is closed before that, or then
		}
		b.mu.Unlock()
		if !patient {
			return false, blocked
		}
		select {
		case <-changed:
		case <-time.After(due):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// recoveringLocked returns the bound of the rate, or nil if there is none any more.
func (b *breaker) recoveringLocked() *rate.Limiter {
	switch {
	case b.recovering == nil:
	case b.recovering.Tokens() >= recoveryBurst && time.Since(b.closedAt) >= minRecovery:
		b.recovering = nil
	default:
		b.recovering.SetLimit(rate.Limit(recoveryRate * math.Pow(2, math.Floor(time.Since(b.closedAt).Seconds()/recoveryStep.Seconds()))))
	}
	return b.recovering
}

// awaitRecovery blocks until the rate of a recovery allows another review; nil is no bound.
func awaitRecovery(ctx context.Context, recovering *rate.Limiter, patient bool) error {
	if recovering == nil {
		return nil
	}
	reservation := recovering.Reserve()
	delay := reservation.Delay()
	if !patient && delay > slotPatience {
		reservation.Cancel()
		return errNoSlot
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		reservation.Cancel()
		return context.Cause(ctx)
	}
}

// done records the outcome of a review that has passed. context.Canceled means that it has none, and so
// does a timeout unless blamesTimeouts is set. A canceled probe is followed by another.
func (b *breaker) done(probe bool, err error, blamesTimeouts bool) {
	var hidden *tokenReviewError
	if errors.As(err, &hidden) {
		err = hidden.cause
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled), !probe && !blamesTimeouts && errors.Is(err, context.DeadlineExceeded):
	case err == nil || aboutTheQuestion(err):
		b.failures, b.decidedAt = 0, time.Now()
		b.closeLocked()
		return
	case errors.Is(err, errAuthorizerFails): // only for some callers, perhaps: it is shown, and blocks no others
		b.recordLocked(err)
		b.closeLocked()
		return
	default:
		b.failLocked(probe, err)
	}
	if probe && b.open {
		b.setLocked(true, false)
	}
}

func (b *breaker) closeLocked() {
	if !b.open {
		return
	}
	slog.Info("the API server answers reviews of callers again", "review", b.name, "after", time.Since(b.failingSince).Round(time.Millisecond))
	b.closedAt = time.Now()
	b.recovering = rate.NewLimiter(recoveryRate, recoveryBurst)
	b.recovering.AllowN(time.Now(), recoveryBurst)
	b.setLocked(false, false)
}

// recordLocked records a failure.
func (b *breaker) recordLocked(err error) {
	b.failedAt = time.Now()
	if b.failures == 0 {
		b.failingSince = b.failedAt
	}
	b.failures++
	b.problem, b.unreachable = problemOf(err)
}

// failsLocked reports whether the failures show that the API server gives no decisions.
func (b *breaker) failsLocked() bool {
	return b.failures >= tripAfter || b.failures > 0 && b.failedAt.Sub(b.failingSince) >= tripTime
}

func (b *breaker) failLocked(probe bool, err error) {
	b.recordLocked(err)
	switch {
	case !b.open && b.failsLocked():
		slog.Warn("the API server does not answer reviews of callers: calls fail, and streams are stale", "review", b.name, "problem", b.problem)
		b.pause = wait.Backoff{Duration: minProbePause, Factor: 2, Steps: 10, Cap: maxProbePause, Jitter: probeJitter}
		b.setLocked(true, false)
	case !probe:
		return // it was sent before the breaker opened
	}
	pause := b.pause.Step()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, min(time.Duration(seconds)*time.Second, maxProbePause))
	}
	b.probeAt = time.Now().Add(pause)
}

func (b *breaker) setLocked(open, probing bool) {
	b.open, b.probing = open, probing
	close(b.changed)
	b.changed = make(chan struct{})
}

// addTo adds the state of the breaker to statistics.
func (b *breaker) addTo(stats ReviewStats) ReviewStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats.DecidedAt = b.decidedAt
	if b.failsLocked() && time.Since(b.failedAt) < shownFor {
		stats.FailingSince, stats.Problem, stats.Unreachable = b.failingSince, b.problem, b.unreachable
	}
	return stats
}

// problemOf returns why a review has failed, and whether the API server was not reached for it. The
// text has no address and no text of the API server.
func problemOf(err error) (problem string, unreachable bool) {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("the API server returns %s (%d)", status.Status().Reason, status.Status().Code), false
	case errors.Is(err, errAuthorizerFails):
		return errAuthorizerFails.Error(), false
	case errors.Is(err, errUndecided):
		return fmt.Sprintf("the API server does not decide within %s", lookupTimeout), false
	}
	return "the API server cannot be reached", true
}
