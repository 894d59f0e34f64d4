package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// tripAfter is the number of failures in a row after which a gate closes. It also closes when all
	// reviews have failed for tripTime, because few callers cause few reviews, and each may take
	// lookupTimeout to fail.
	tripAfter = 5
	tripTime  = lookupTimeout
	// tripCallers is the number of callers whose reviews must have timed out since the last decision, before
	// their timeouts count for all callers. An authorizer may not respond for some callers only.
	tripCallers = 3
	// shownFor is the time for which a failure is shown. While callers or streams wait for a decision,
	// another review follows sooner. Without them none follows, and nothing shows that it would fail.
	shownFor = time.Minute
	// minProbePause and maxProbePause bound the time from a failed probe to the next one: the pause
	// doubles with each, and probeJitter of it is random, so that replicas do not probe together.
	minProbePause = 500 * time.Millisecond
	maxProbePause = 5 * time.Second
	probeJitter   = 0.2
	// probeYield is how much later a caller whose reviews time out may probe the gate of all callers: another
	// caller, whose stream tries again after a second, is more likely to get a decision.
	probeYield = 2 * time.Second
	// recoveryRate and recoveryBurst bound the reviews each second after the gate of all callers has opened, because
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
// Reviews pass the gate of all callers, and a gate of their caller. A gate is open at first. It closes after
// tripAfter failures in a row, or tripTime with nothing but failures: reviews of new calls fail at once, and
// those of open streams wait. From time to time one review passes as a probe.
//
// A timeout at an API server that can be reached counts for its caller. It counts for all callers only
// if the reviews of tripCallers callers have timed out since the last response to another caller. Every
// other failure counts for all callers. The first response opens the gate of all callers, and that of its
// own caller; the waiting reviews then pass at a bounded rate.
//
// Its methods are safe for concurrent use.
type breaker struct {
	name string // of the review; set once

	mu          sync.Mutex // guards the fields below
	failures    failureRun // of all kinds, since the last decision
	decidedAt   time.Time  // the time of the last decision
	problem     string     // of the last failure
	unreachable bool       // the API server was not reached for the last failure
	all         gate
	callers     map[string]*gate // of callers whose reviews have timed out in the last minute, and not been answered since
	changed     chan struct{}    // closed when a gate opens, or a probe has ended
	recovering  *rate.Limiter    // nil if the rate is not bounded
	openedAt    time.Time        // the time at which recovering began
}

// failureRun counts failures in a row.
type failureRun struct {
	count int
	since time.Time // the time of the first
	last  time.Time
}

func (f *failureRun) add() {
	f.last = time.Now()
	if f.count == 0 {
		f.since = f.last
	}
	f.count++
}

// persist reports whether the failures show that there are no decisions.
func (f *failureRun) persist() bool {
	return f.count >= tripAfter || f.count > 0 && f.last.Sub(f.since) >= tripTime
}

// gate blocks reviews after failures.
type gate struct {
	failures failureRun
	closed   bool
	probing  bool         // a probe is under way
	pause    wait.Backoff // until the next probe
	probeAt  time.Time    // the time of the next probe
	excused  bool         // another caller's review was answered since the first failure of this caller
}

// blocksFor returns the time for which a gate blocks reviews that may be a probe some time after it is due: 0
// if one may pass.
func (g *gate) blocksFor(afterDue time.Duration) time.Duration {
	switch {
	case !g.closed:
		return 0
	case g.probing:
		return maxProbePause // or until the probe ends
	}
	return max(0, time.Until(g.probeAt.Add(afterDue)))
}

// fail records a failure. It reports whether the gate closes.
func (g *gate) fail(probe bool, err error) (closes bool) {
	g.failures.add()
	switch {
	case !g.closed && g.failures.persist():
		closes, g.closed, g.probing = true, true, false
		g.pause = wait.Backoff{Duration: minProbePause, Factor: 2, Steps: 10, Cap: maxProbePause, Jitter: probeJitter}
	case !g.closed || !probe:
		return false // it was sent before the gate closed
	}
	pause := g.pause.Step()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, min(time.Duration(seconds)*time.Second, maxProbePause))
	}
	g.probeAt = time.Now().Add(pause)
	return closes
}

// probe lists the closed gates that a review has passed as a probe.
type probe []*gate

func newBreaker(name string) *breaker {
	return &breaker{name: name, callers: map[string]*gate{}, changed: make(chan struct{})}
}

// blockedError reports that a review was not sent, because a gate is closed.
type blockedError struct {
	what    string // the API server has not done
	since   time.Time
	retryIn time.Duration
}

func (e *blockedError) Error() string {
	return fmt.Sprintf("the API server has not %s for %s", e.what, time.Since(e.since).Round(time.Second))
}

// refuse returns a blockedError if a gate is closed for a caller and no probe is due, or nil.
func (b *breaker) refuse(caller string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.blockedLocked(caller)
	return err
}

// blockedLocked returns the time until another attempt and a blockedError, or nil if a review may be sent.
func (b *breaker) blockedLocked(caller string) (time.Duration, error) {
	for _, g := range b.closedLocked(caller) {
		var afterDue time.Duration
		if g == &b.all && b.callers[caller] != nil {
			afterDue = probeYield
		}
		if remaining := g.blocksFor(afterDue); remaining > 0 {
			blocked := &blockedError{"answered reviews", g.failures.since, max(time.Until(g.probeAt), minProbePause)}
			if g != &b.all {
				blocked.what = "decided about this caller"
			}
			return remaining, blocked
		}
	}
	return 0, nil
}

// closedLocked returns the closed gates of a caller.
func (b *breaker) closedLocked(caller string) (closed probe) {
	for _, g := range []*gate{&b.all, b.callers[caller]} {
		if g != nil && g.closed {
			closed = append(closed, g)
		}
	}
	return closed
}

// await blocks until a review of a caller may be sent.
func (b *breaker) await(ctx context.Context, caller string) error {
	for {
		b.mu.Lock()
		remaining, err := b.blockedLocked(caller)
		changed := b.changed
		b.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(remaining):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pass returns a blockedError if a review may not be sent, and otherwise blocks until the rate of a recovery
// allows it. The caller must then call done after the review, with the returned probe.
func (b *breaker) pass(ctx context.Context, caller string, patient bool) (probe, error) {
	b.mu.Lock()
	if _, err := b.blockedLocked(caller); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	if closed := b.closedLocked(caller); closed != nil {
		for _, g := range closed {
			g.probing = true
		}
		b.mu.Unlock()
		return closed, nil
	}
	recovering := b.recoveringLocked()
	b.mu.Unlock()
	return nil, awaitRecovery(ctx, recovering, patient)
}

// recoveringLocked returns the bound of the rate, or nil if there is none any more.
func (b *breaker) recoveringLocked() *rate.Limiter {
	switch {
	case b.recovering == nil:
	case b.recovering.Tokens() >= recoveryBurst && time.Since(b.openedAt) >= minRecovery:
		b.recovering = nil
	default:
		b.recovering.SetLimit(rate.Limit(recoveryRate * math.Pow(2, math.Floor(time.Since(b.openedAt).Seconds()/recoveryStep.Seconds()))))
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
	if !patient && delay > slotTimeout {
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

// done records the outcome of a caller's review that has passed. The caller is empty if it is not known.
// context.Canceled means that a review has no outcome, and so does the timeout of an unknown caller unless it
// is a probe. A canceled probe is followed by another.
func (b *breaker) done(p probe, err error, caller string) {
	var hidden *tokenReviewError
	if errors.As(err, &hidden) {
		err = hidden.cause
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range p {
		g.probing = false
	}
	switch {
	case errors.Is(err, context.Canceled), caller == "" && p == nil && errors.Is(err, context.DeadlineExceeded):
	case err == nil || aboutTheQuestion(err):
		b.failures, b.decidedAt = failureRun{}, time.Now()
		b.respondedLocked(caller)
	case errors.Is(err, errAuthorizerFails): // only for some callers, perhaps: it is shown, and blocks nobody
		b.recordLocked(err)
		b.respondedLocked(caller)
	default:
		b.recordLocked(err)
		b.failLocked(p, err, caller)
	}
	if p != nil {
		b.changeLocked()
	}
}

// respondedLocked records that the API server has responded to a review of a caller.
func (b *breaker) respondedLocked(caller string) {
	if b.callers[caller] != nil {
		delete(b.callers, caller)
		b.changeLocked()
	}
	for _, g := range b.callers {
		g.excused = true
	}
	if b.all.closed {
		slog.Info("the API server answers reviews of callers again", "review", b.name, "after", time.Since(b.all.failures.since).Round(time.Millisecond))
		b.openedAt = time.Now()
		b.recovering = rate.NewLimiter(recoveryRate, recoveryBurst)
		b.recovering.AllowN(time.Now(), recoveryBurst)
		b.changeLocked()
	}
	b.all = gate{}
}

// recordLocked records a failure.
func (b *breaker) recordLocked(err error) {
	b.failures.add()
	b.problem, b.unreachable = problemOf(err)
}

// failLocked records a failure at the gates that it concerns.
func (b *breaker) failLocked(p probe, err error, caller string) {
	own := b.gateOfLocked(caller, err)
	probesAll := slices.Contains(p, &b.all)
	if own == nil || probesAll || !own.excused && b.suspectsLocked() >= tripCallers {
		if b.all.fail(probesAll, err) {
			slog.Warn("the API server does not answer reviews of callers: calls fail, and streams are stale", "review", b.name, "problem", b.problem)
		}
	}
	if own != nil {
		own.fail(slices.Contains(p, own), err)
	}
}

// gateOfLocked returns the gate of a caller if a failure may concern only that caller, or nil.
func (b *breaker) gateOfLocked(caller string, err error) *gate {
	if caller == "" || !errors.Is(err, errUndecided) {
		return nil
	}
	maps.DeleteFunc(b.callers, func(_ string, g *gate) bool { return !g.probing && time.Since(g.failures.last) > shownFor })
	if b.callers[caller] == nil {
		b.callers[caller] = &gate{}
	}
	return b.callers[caller]
}

// suspectsLocked returns the number of callers whose reviews have timed out since the last response to another.
func (b *breaker) suspectsLocked() (count int) {
	for _, g := range b.callers {
		if !g.excused {
			count++
		}
	}
	return count
}

// changeLocked wakes the reviews that wait.
func (b *breaker) changeLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// addTo adds the state of the breaker to statistics.
func (b *breaker) addTo(stats ReviewStats) ReviewStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats.DecidedAt = b.decidedAt
	if b.failures.persist() && time.Since(b.failures.last) < shownFor {
		stats.FailingSince, stats.Problem, stats.Unreachable = b.failures.since, b.problem, b.unreachable
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
