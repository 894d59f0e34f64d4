package informerhub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// quietAfter is the time without a change of a resource after which AwaitChanges does not wait for the next change.
const quietAfter = time.Second

// awaitChanges is described at [Cache.AwaitChanges].
func (c *scopeCache) awaitChanges(ctx context.Context, version string, timeout time.Duration) (reached bool, err error) {
	if err := checkVersion(version); err != nil {
		return false, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		advanced, err := c.unreached(version, (*feed).reached)
		if advanced == nil || err != nil {
			return err == nil, err
		}
		if c.sinceChange() > quietAfter {
			return false, nil
		}
		select {
		case <-advanced:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// sinceChange returns the time since the last change.
func (c *scopeCache) sinceChange() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	changes := c.feed.window.changes
	if len(changes) == 0 {
		return quietAfter + time.Second
	}
	return time.Since(time.Unix(0, changes[len(changes)-1].at))
}

// retryTooNew is the retry time, in seconds, for a version that the cache has not reached.
const retryTooNew = 1

// maxReserve bounds the time before the deadline of a call that is reserved for its response.
const maxReserve = 250 * time.Millisecond

// beforeDeadline returns the time to wait: at most timeout, and so that an error can be sent
// before the deadline of the call. A quarter of a short time is reserved for that.
func beforeDeadline(ctx context.Context, timeout time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return timeout
	}
	left := time.Until(deadline)
	return max(0, min(timeout, left-min(maxReserve, left/4)))
}

// isDenied reports whether the API server has rejected the credential or the permission of a
// request.
func isDenied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// Ready blocks until a cache that was returned by [Hub.Start] has a complete snapshot. It fails as
// [Hub.Cache] does.
func (c *scopeCache) Ready(ctx context.Context) error {
	waiting, cancel := context.WithTimeoutCause(ctx, beforeDeadline(ctx, c.snapshotTimeout), errNoSnapshot)
	defer cancel()
	err := c.ready(waiting)
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return err
	case errors.As(err, &status):
		return &SnapshotError{c.resource, err, c.retryAfter()}
	case errors.Is(err, errNoSnapshot) && ctx.Err() == nil:
		return &SnapshotError{c.resource, c.lastFailure(), c.retryAfter()}
	}
	return err
}

// ready blocks until the cache has a complete snapshot. If the last attempt to get it has failed,
// ready returns that failure at once, unless the API server has asked to wait, and the next attempt follows before the context ends.
func (c *scopeCache) ready(ctx context.Context) error {
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	var waiting tracing.Wait
	defer waiting.End()
	for {
		c.mu.RLock()
		state, changed := c.state, c.changed
		c.mu.RUnlock()
		switch {
		case state.ended != nil:
			return state.ended
		case state.synced:
			return nil
		case state.failure != nil && !state.retriesBefore(ctx):
			return state.failure
		}
		waiting.Begin(ctx, "wait for the first snapshot")
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first snapshot of %s: %w", c.resource, context.Cause(ctx))
		}
	}
}

// retriesBefore reports whether the API server has asked to wait, but not until the context ends.
func (s state) retriesBefore(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return !s.retry.IsZero() && (!ok || s.retry.Before(end))
}

// retryAfter returns the time after which the next attempt to get a snapshot follows; 0 if it is not known.
func (c *scopeCache) retryAfter() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return max(0, time.Until(c.state.retry))
}

// lastFailure returns the last error of the API server before the first snapshot.
func (c *scopeCache) lastFailure() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.state.lastFailure != nil {
		return c.state.lastFailure
	}
	return errNoSnapshot
}

// awaitEnd blocks until the cache has ended for good or the context has ended.
func (c *scopeCache) awaitEnd(ctx context.Context) {
	for {
		c.mu.RLock()
		ended, changed := c.state.ended, c.changed
		c.mu.RUnlock()
		if ended != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Await blocks until the cache has reached a resource version, for at most timeout, or until
// shortly before the deadline of ctx. After that it fails with a Timeout error with a retry time.
// An invalid version is a BadRequest error.
func (c *scopeCache) Await(ctx context.Context, version string, timeout time.Duration) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	reached, err := c.await(ctx, version, timeout)
	if err != nil || reached {
		return err
	}
	return c.notReached(version)
}

func checkVersion(version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a resource version", version))
	}
	return nil
}

func (c *scopeCache) notReached(version string) error {
	return apierrors.NewTimeoutError(fmt.Sprintf("the cache of %s has not reached resource version %s yet", c.resource, version), retryTooNew)
}

// issuedPause is the time after which the API server is asked again whether it has reached a version.
const issuedPause = time.Second

// awaitIssued blocks until the API server has reached a version, and fails as Await does. While the API server cannot be asked, it
// does not block.
func (c *scopeCache) awaitIssued(ctx context.Context, version string, timeout time.Duration) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, beforeDeadline(ctx, timeout))
	defer cancel()
	for {
		advanced, err := c.notAt(version)
		if advanced == nil || err != nil {
			return err // the cache has it
		}
		issued, err := c.hasReached(waiting, version)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case waiting.Err() != nil:
			return c.notReached(version)
		case issued || err != nil:
			return nil
		}
		pause(waiting, issuedPause)
	}
}

// aheadTimeout is the time to wait for a position before the API server is asked whether it has
// reached that position.
const aheadTimeout = time.Second

// AwaitPosition blocks as Await does, and fails with ErrUndone for a position of another history.
func (c *scopeCache) AwaitPosition(ctx context.Context, at Position, timeout time.Duration) error {
	if c.undone(at) {
		return ErrUndone
	}
	if reached, err := c.await(ctx, at.Version, min(aheadTimeout, timeout)); reached || err != nil {
		return err
	}
	been, err := c.hasReached(ctx, at.Version)
	if advanced, _ := c.notAt(at.Version); err == nil && !been && advanced != nil {
		return ErrUndone
	}
	return c.Await(ctx, at.Version, timeout)
}

// hasReached reports whether the API server has reached a version that this cache has not, so that
// another replica may have issued it. Otherwise the version belongs to a history that was undone.
func (c *scopeCache) hasReached(ctx context.Context, version string) (bool, error) {
	if advanced, err := c.notAt(version); advanced == nil || err != nil {
		return false, err
	}
	if c.history == nil {
		return false, errNoHistory
	}
	return c.history.hasReached(ctx, version)
}

// incompletePause is the time for which AwaitComplete does not wait after it has waited in vain:
// the API server cannot be asked then.
const incompletePause = 10 * time.Second

// AwaitComplete blocks until the cache has every change at a version, for at most timeout. It
// reports whether the cache has them: there may be more deletions at the version of the last one.
// It does not wait if it has waited in vain in the last ten seconds.
func (c *scopeCache) AwaitComplete(ctx context.Context, version string, timeout time.Duration) (bool, error) {
	if time.Now().UnixNano() < c.incompleteUntil.Load() {
		advanced, err := c.incomplete(version)
		return advanced == nil && err == nil, err
	}
	complete, err := c.awaitUntil(ctx, timeout, c.verifier.askState, func() (<-chan struct{}, error) { return c.incomplete(version) })
	if !complete && err == nil {
		c.incompleteUntil.Store(time.Now().Add(incompletePause).UnixNano())
	}
	return complete, err
}

// incomplete returns a channel that is closed when the cache advances; nil if the cache has every
// change at a version.
func (c *scopeCache) incomplete(version string) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended != nil {
		return nil, c.state.ended
	}
	if c.feed.isComplete(version) {
		return nil, nil
	}
	return c.feed.nextVersion(), nil
}

// awaitWithoutAPIServer blocks until the cache has reached a version while the API server cannot be
// asked for it. It fails with a discovery.UnavailableError after timeout.
func (c *scopeCache) awaitWithoutAPIServer(ctx context.Context, version string, timeout time.Duration, reason error) error {
	reached, err := c.awaitFeed(ctx, version, timeout)
	if err != nil || reached {
		return err
	}
	host := ""
	if unavailable := (*discovery.UnavailableError)(nil); errors.As(reason, &unavailable) {
		host = unavailable.Host
	}
	return &discovery.UnavailableError{Host: host, Err: fmt.Errorf(
		"this replica has not reached version %s, and the API server cannot be asked for it: %w", version, reason)}
}

// await blocks until a reader sees everything up to a version, for at most timeout.
func (c *scopeCache) await(ctx context.Context, version string, timeout time.Duration) (reached bool, err error) {
	return c.awaitUntil(ctx, timeout, c.verifier.askState, func() (<-chan struct{}, error) { return c.unreached(version, (*feed).reached) })
}

// awaitFeed blocks until the feed is at a version, for at most timeout.
func (c *scopeCache) awaitFeed(ctx context.Context, version string, timeout time.Duration) (reached bool, err error) {
	return c.awaitUntil(ctx, timeout, c.verifier.askFeed, func() (<-chan struct{}, error) { return c.notAt(version) })
}

// awaitUntil blocks until pending returns no channel. It calls pending again whenever the channel
// is closed, and meanwhile ask at intervals, as keepAsking does.
func (c *scopeCache) awaitUntil(
	ctx context.Context, timeout time.Duration, ask func(context.Context) bool, pending func() (<-chan struct{}, error),
) (reached bool, err error) {
	advanced, err := pending()
	if advanced == nil || err != nil {
		return err == nil, err
	}
	ctx, span := tracing.Begin(ctx, "wait for a version")
	defer span.End()
	timer := time.NewTimer(beforeDeadline(ctx, timeout))
	defer timer.Stop()
	if c.history != nil {
		pollCtx, stop := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { keepAsking(pollCtx, ask) })
		defer done.Wait()
		defer stop()
	}
	for ; advanced != nil && err == nil; advanced, err = pending() {
		select {
		case <-advanced:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return err == nil, err
}

// notAt returns a channel that is closed when the cache advances; nil if its feed is already at the
// version or a newer one.
func (c *scopeCache) notAt(version string) (<-chan struct{}, error) {
	return c.unreached(version, func(f *feed) string { return f.version })
}

// unreached returns a channel that is closed when the cache advances; nil if what its feed has reached
// is not older than the version.
func (c *scopeCache) unreached(version string, reached func(*feed) string) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended != nil {
		return nil, c.state.ended
	}
	if !object.Older(reached(c.feed), version) {
		return nil, nil
	}
	return c.feed.nextVersion(), nil
}
