package informerhub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/tracing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// retryTooNew is the retry time, in seconds, for a version that the cache has not reached.
const retryTooNew = 1

// maxReserve bounds the time before the deadline of a call that is reserved for its response.
const maxReserve = 250 * time.Millisecond

// beforeDeadline returns the time to wait: at most patience, and so that an error can be sent
// before the deadline of the call. A quarter of a short time is reserved for that.
func beforeDeadline(ctx context.Context, patience time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return patience
	}
	left := time.Until(deadline)
	return max(0, min(patience, left-min(maxReserve, left/4)))
}

// Await blocks until the cache has reached a resource version, for at most patience, or until
// shortly before the deadline of ctx. After that it fails with a Timeout error with a retry time.
// An invalid version is a BadRequest error.
func (c *Cache) Await(ctx context.Context, version string, patience time.Duration) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a resource version", version))
	}
	reached, err := c.await(ctx, version, patience)
	if err != nil || reached {
		return err
	}
	return apierrors.NewTimeoutError(fmt.Sprintf(
		"the cache of %s has not reached resource version %s yet", c.resource, version), retryTooNew)
}

// awaitWithoutAPIServer blocks until the cache has reached a version while the API server cannot be
// asked for it. It fails with a discovery.UnavailableError after patience.
func (c *Cache) awaitWithoutAPIServer(ctx context.Context, version string, patience time.Duration, reason error) error {
	reached, err := c.awaitFeed(ctx, version, patience)
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

// await blocks until a reader sees everything up to a version, for at most patience.
func (c *Cache) await(ctx context.Context, version string, patience time.Duration) (reached bool, err error) {
	return c.awaitUntil(ctx, patience, c.askState, func() (<-chan struct{}, error) { return c.unreached(version, (*feed).reached) })
}

// awaitFeed blocks until the feed is at a version, for at most patience.
func (c *Cache) awaitFeed(ctx context.Context, version string, patience time.Duration) (reached bool, err error) {
	return c.awaitUntil(ctx, patience, c.askProgress, func() (<-chan struct{}, error) { return c.notAt(version) })
}

// awaitUntil blocks until pending returns no channel. It calls pending again whenever the channel
// is closed, and meanwhile ask at an interval.
func (c *Cache) awaitUntil(
	ctx context.Context, patience time.Duration, ask func(context.Context), pending func() (<-chan struct{}, error),
) (reached bool, err error) {
	advanced, err := pending()
	if advanced == nil || err != nil {
		return err == nil, err
	}
	ctx, span := tracing.Begin(ctx, "wait for a version")
	defer span.End()
	timeout := time.NewTimer(beforeDeadline(ctx, patience))
	defer timeout.Stop()
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
		case <-timeout.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return err == nil, err
}

// notAt returns a channel that is closed when the cache advances; nil if its feed is already at the
// version or a newer one.
func (c *Cache) notAt(version string) (<-chan struct{}, error) {
	return c.unreached(version, func(f *feed) string { return f.version })
}

// unreached returns a channel that is closed when the cache advances; nil if what its feed has reached
// is not older than the version.
func (c *Cache) unreached(version string, reached func(*feed) string) (<-chan struct{}, error) {
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
