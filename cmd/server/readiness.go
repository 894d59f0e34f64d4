package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

const (
	// readinessInterval is how often readiness is checked. A check is free while there is a
	// snapshot, and otherwise requests the API server's version.
	readinessInterval = time.Second
	// reachedInterval is how often the API server's version is requested while it responds.
	reachedInterval = 5 * time.Second
)

// followReadiness updates the readiness of the service until the context is done. Missing
// permissions prevent it from becoming ready, so that a rollout stops. They do not end readiness
// later: all replicas lack them, and an error that reports them is better than no response.
func followReadiness(
	ctx context.Context, hub *informerhub.Hub, permissions *ownPermissions, readiness *health.Readiness,
) {
	granted := permissions.granted
	for logged := "not looked at"; ctx.Err() == nil; {
		err := whyNotReady(ctx, hub)
		if err == nil {
			err = granted()
		}
		if ctx.Err() != nil {
			return
		}
		readiness.Set(err == nil)
		if err == nil {
			granted = func() error { return nil }
		}
		logged = logReadiness(err, logged)
		interval := readinessInterval
		if err == nil && !hub.HasSnapshot() {
			interval = reachedInterval
		}
		sleep(ctx, interval)
	}
}

// whyNotReady returns why the service cannot serve reads: preloaded resources have no snapshot, or
// no resource has a snapshot and the API server is unreachable.
func whyNotReady(ctx context.Context, hub *informerhub.Hub) error {
	if err := hub.Warm(); err != nil {
		return err
	}
	if hub.HasSnapshot() {
		return nil
	}
	return hub.Resolver().Ping(ctx)
}

// logReadiness logs the readiness when it has changed, and returns the reason that was logged last.
func logReadiness(err error, logged string) string {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	switch {
	case reason == logged:
	case err == nil:
		slog.Info("ready")
	default:
		slog.Warn("not ready", "error", err)
	}
	return reason
}

// awaitReached blocks until the API server has responded once. It returns false if the context is
// done first.
func awaitReached(ctx context.Context, resolver *discovery.Resolver) bool {
	for ctx.Err() == nil {
		if resolver.Ping(ctx) == nil {
			return true
		}
		sleep(ctx, readinessInterval)
	}
	return false
}

// sleep blocks for some time, or until the context is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
