package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server"
)

const (
	// readinessInterval is how often readiness is looked at. It costs nothing while there is a
	// snapshot, and asks the API server for its version otherwise.
	readinessInterval = time.Second
	// reachedInterval is how often the API server is asked for its version while it answers.
	reachedInterval = 5 * time.Second
)

// followReadiness keeps the service ready while it can answer, until the context ends. Permissions
// that are missing keep it from becoming ready, so that a rollout stops. Afterwards they do not end
// readiness: they are missing at all replicas, and an answer that says so is better than none.
func followReadiness(ctx context.Context, hub *informerhub.Hub, permissions *ownPermissions, readiness *server.Readiness) {
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

// whyNotReady returns why the service cannot answer: what is preloaded has no snapshot, or nothing
// has one and the API server cannot be reached.
func whyNotReady(ctx context.Context, hub *informerhub.Hub) error {
	if err := hub.Warm(); err != nil {
		return err
	}
	if hub.HasSnapshot() {
		return nil
	}
	return hub.Resolver().Reached(ctx)
}

// logReadiness writes whether the service is ready to the log when that has changed, and returns
// what it has written last.
func logReadiness(err error, logged string) string {
	why := ""
	if err != nil {
		why = err.Error()
	}
	switch {
	case why == logged:
	case err == nil:
		slog.Info("ready")
	default:
		slog.Warn("not ready", "error", err)
	}
	return why
}

// awaitReached blocks until the API server has answered once, and reports whether it has: not if the
// context ends first.
func awaitReached(ctx context.Context, resolver *informerhub.Resolver) bool {
	for ctx.Err() == nil {
		if resolver.Reached(ctx) == nil {
			return true
		}
		sleep(ctx, readinessInterval)
	}
	return false
}

// sleep blocks for some time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
