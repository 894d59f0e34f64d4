package informerhub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// retryTooNew is the retry time, in seconds, for a version that the cache has not reached.
const retryTooNew = 1

// Await blocks until the cache has reached a resource version, for at most patience. After that it
// fails with a Timeout error with a retry time. An invalid version is a BadRequest error.
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

// awaitAlone blocks until the cache has reached a version while the API server cannot be asked for
// it. It fails with an UnavailableError after patience.
func (c *Cache) awaitAlone(ctx context.Context, version string, patience time.Duration, why error) error {
	reached, err := c.await(ctx, version, patience)
	if err != nil || reached {
		return err
	}
	host := ""
	if away := (*UnavailableError)(nil); errors.As(why, &away) {
		host = away.Host
	}
	return &UnavailableError{Host: host, Err: fmt.Errorf(
		"this replica has not reached version %s, and the API server cannot be asked for it: %w", version, why)}
}

func (c *Cache) await(ctx context.Context, version string, patience time.Duration) (reached bool, err error) {
	return c.awaitUntil(ctx, patience, func() (<-chan struct{}, error) { return c.behind(version) })
}

// awaitUntil blocks until behind returns no channel. It calls behind again whenever the channel is
// closed.
func (c *Cache) awaitUntil(
	ctx context.Context, patience time.Duration, behind func() (<-chan struct{}, error),
) (reached bool, err error) {
	grown, err := behind()
	if grown == nil || err != nil {
		return err == nil, err
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	if c.history != nil {
		asking, stop := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { c.keepAskingProgress(asking) })
		defer done.Wait()
		defer stop()
	}
	for ; grown != nil && err == nil; grown, err = behind() {
		select {
		case <-grown:
		case <-timeout.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return err == nil, err
}

// behind returns a channel that is closed when the cache advances; nil if it has already reached
// the version.
func (c *Cache) behind(version string) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended != nil {
		return nil, c.state.ended
	}
	if !older(c.feed.version, version) {
		return nil, nil
	}
	return c.feed.nextVersion(), nil
}
