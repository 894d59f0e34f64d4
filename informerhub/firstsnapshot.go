package informerhub

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// snapshotPatience bounds a caller's wait for the first snapshot of a cache.
const snapshotPatience = 10 * time.Second

// isDenied reports whether the API server has rejected the credential or the permission of a
// request.
func isDenied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// Ready blocks until a cache that was returned by [Hub.Start] has a complete snapshot. It fails as
// [Hub.Cache] does.
func (c *Cache) Ready(ctx context.Context) error {
	waiting, cancel := context.WithTimeoutCause(ctx, beforeDeadline(ctx, snapshotPatience), errNoSnapshot)
	defer cancel()
	err := c.ready(waiting)
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return err
	case errors.As(err, &status):
		return &SnapshotError{c.resource, err}
	case errors.Is(err, errNoSnapshot) && ctx.Err() == nil:
		return &SnapshotError{c.resource, c.lastFailure()}
	}
	return err
}

// ready blocks until the cache has a complete snapshot. If the last attempt to get it has failed,
// ready returns that failure at once.
func (c *Cache) ready(ctx context.Context) error {
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
		case state.failure != nil:
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

// lastFailure returns the last error of the API server before the first snapshot.
func (c *Cache) lastFailure() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.state.lastFailure != nil {
		return c.state.lastFailure
	}
	return errNoSnapshot
}
