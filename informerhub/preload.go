package informerhub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
)

// Preloaded caches are ready before the first request, and are not evicted when idle. [Hub.Warm]
// reports when a starting replica has them, so that clients are not sent to a replica that has not
// read the cluster yet.

const (
	// preloadRetry is the pause after a failure.
	preloadRetry = time.Second
	// skippedRetry is the pause after a failure that another attempt is unlikely to fix.
	skippedRetry = time.Minute
	// preloadPatience is the time for which Warm waits for a resource for which the API server
	// returns errors, such as a custom resource whose conversion webhook is down.
	preloadPatience = 30 * time.Second
)

// preloads are the preloaded resources, by the names that the operator has given.
type preloads struct {
	mu    sync.Mutex // guards the fields below
	state map[string]*preloadState
	warm  bool // all were settled at some time
}

// preloadState is the progress of one preloaded resource.
type preloadState struct {
	synced       bool
	failure      error     // the last one; nil when synced, or before the first attempt has ended
	failingSince time.Time // when the API server began to respond with errors
	// unservable reports whether there is nothing to preload: the cluster does not serve the
	// resource, or it must not be cached.
	unservable bool
}

func newPreloads(names []string) *preloads {
	p := &preloads{state: make(map[string]*preloadState)}
	for _, name := range names {
		p.state[name] = &preloadState{}
	}
	return p
}

// Preload starts the caches of [Options.Preload], and keeps them until the context ends. It blocks
// until then.
func (h *Hub) Preload(ctx context.Context) {
	var keeping sync.WaitGroup
	for name := range h.preloads.state {
		keeping.Go(func() { h.keepPreloaded(ctx, name) })
	}
	keeping.Wait()
}

// keepPreloaded starts the cache of a resource, and restarts it when it has ended.
func (h *Hub) keepPreloaded(ctx context.Context, name string) {
	for ctx.Err() == nil {
		resource, err := h.preload(ctx, name)
		if ctx.Err() != nil {
			return
		}
		switch h.preloads.record(name, err) {
		case preloadSynced:
			h.awaitEnd(ctx, resource)
		case preloadSkipped:
			pause(ctx, skippedRetry)
		case preloadFailed:
			pause(ctx, preloadRetry)
		}
	}
}

// preload blocks until a resource has a snapshot.
func (h *Hub) preload(ctx context.Context, name string) (Resource, error) {
	resource, err := h.resolver.Resolve(ctx, name)
	if err != nil {
		return resource, err
	}
	if !resource.Cacheable() {
		return resource, errUncacheable
	}
	cache, err := h.Start(ctx, resource)
	if err != nil {
		return resource, err
	}
	h.pin(resource)
	return resource, cache.Ready(ctx)
}

// pin prevents the eviction of an idle cache.
func (h *Hub) pin(resource Resource) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pinned[resource] = true
}

// awaitEnd blocks until the cache of a resource has ended, and unpins the resource, because its
// definition may have changed.
func (h *Hub) awaitEnd(ctx context.Context, resource Resource) {
	h.mu.Lock()
	running := h.caches[resource]
	h.mu.Unlock()
	if running != nil {
		running.awaitEnd(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pinned, resource)
}

// preloadOutcome is the outcome of an attempt.
type preloadOutcome int

const (
	preloadFailed preloadOutcome = iota
	preloadSynced
	preloadSkipped
)

// record records the outcome of an attempt to preload a resource.
func (p *preloads) record(name string, err error) preloadOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.state[name]
	before := state.failure
	state.synced, state.failure = err == nil, err
	switch {
	case err == nil:
		state.failingSince, state.unservable = time.Time{}, false
		slog.Info("preloaded", "resource", name)
		return preloadSynced
	case isUnservable(err):
		state.unservable = true
		if before == nil || before.Error() != err.Error() {
			slog.Warn("a name of --preload is not preloaded", "resource", name, "error", err)
		}
		return preloadSkipped
	}
	state.unservable = false
	state.recordResponse(err)
	if before == nil || before.Error() != err.Error() {
		slog.Warn("not preloaded yet", "resource", name, "error", err)
	}
	return preloadFailed
}

// recordResponse records the time since which the API server responds with errors.
func (s *preloadState) recordResponse(err error) {
	var snapshot *SnapshotError
	switch {
	case !errors.As(err, &snapshot) || errors.Is(err, errNoSnapshot):
		s.failingSince = time.Time{} // the API server is unreachable or slow
	case s.failingSince.IsZero():
		s.failingSince = time.Now()
	}
}

// isUnservable reports whether an error shows that there is nothing to preload.
func isUnservable(err error) bool {
	var unknownResource *discovery.UnknownResourceError
	var unserved *discovery.ResourceGoneError
	var unavailable *discovery.GroupUnavailableError
	return errors.As(err, &unknownResource) || errors.As(err, &unserved) || errors.As(err, &unavailable) ||
		errors.Is(err, errUncacheable) || apierrors.IsNotFound(err)
}

// isSettled reports whether Warm need not wait any longer.
func (s *preloadState) isSettled() bool {
	return s.synced || s.unservable || isDenied(s.failure) ||
		!s.failingSince.IsZero() && time.Since(s.failingSince) > preloadPatience
}

// Warm returns nil once each cache of [Options.Preload] has had a snapshot, and before that an
// error that names the missing ones. It does not wait for resources that the cluster does not
// serve, that the service has no permission to list, or for which the API server has returned
// errors for preloadPatience, as long as another resource has a snapshot: a single broken resource
// must not stop all replicas. Once Warm has returned nil, it always returns nil.
func (h *Hub) Warm() error {
	p := h.preloads
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warm {
		return nil
	}
	if missing := p.missingLocked(); len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("there is no snapshot of %s yet", strings.Join(missing, ", "))
	}
	p.warm = true
	return nil
}

// missingLocked returns the resources that Warm must wait for.
func (p *preloads) missingLocked() []string {
	var waiting, failed []string
	synced := false
	for name, state := range p.state {
		synced = synced || state.synced
		switch {
		case !state.isSettled():
			waiting = append(waiting, name)
		case !state.synced && !state.unservable:
			failed = append(failed, name)
		}
	}
	if len(waiting) == 0 && !synced {
		return failed
	}
	return waiting
}
