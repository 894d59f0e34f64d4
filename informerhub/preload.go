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
	// preloadTimeout is the time for which Warm waits for a resource for which the API server
	// returns errors, such as a custom resource whose conversion webhook is down.
	preloadTimeout = 30 * time.Second
)

// preloads are the preloaded resources, by the names that the operator has given.
type preloads struct {
	hub *Hub

	mu    sync.Mutex // guards the fields below
	state map[string]*preloadState
	warm  bool // all were settled at some time
}

// preloadState is the progress of one preloaded resource.
type preloadState struct {
	resource     Resource // zero before the name was resolved
	synced       bool
	failure      error     // the last one; nil when synced, or before the first attempt has ended
	failingSince time.Time // when the API server began to respond with errors
	// unservable reports whether there is nothing to preload: the cluster does not serve the
	// resource, or it must not be cached.
	unservable bool
}

func newPreloads(hub *Hub, names []string) *preloads {
	p := &preloads{hub: hub, state: make(map[string]*preloadState)}
	for _, name := range names {
		p.state[name] = &preloadState{}
	}
	return p
}

// run keeps the caches until the context ends.
func (p *preloads) run(ctx context.Context) {
	var keeping sync.WaitGroup
	for name := range p.state {
		keeping.Go(func() { p.maintain(ctx, name) })
	}
	keeping.Wait()
}

// maintain starts the cache of a resource, and restarts it when it has ended.
func (p *preloads) maintain(ctx context.Context, name string) {
	for ctx.Err() == nil {
		changed := p.hub.ScopesChanged()
		cache, resource, err := p.preload(ctx, name)
		p.setResource(name, resource)
		if ctx.Err() != nil {
			return
		}
		switch p.record(name, err) {
		case preloadSynced:
			p.hub.awaitEnd(ctx, cache, changed)
		case preloadSkipped:
			pause(ctx, skippedRetry)
		case preloadFailed:
			pause(ctx, preloadRetry)
		}
	}
}

// preload blocks until a resource has a snapshot.
func (p *preloads) preload(ctx context.Context, name string) (*Cache, Resource, error) {
	resource, err := p.hub.resolver.Resolve(ctx, name)
	if err != nil {
		return nil, resource, err
	}
	if !resource.Cacheable() {
		return nil, resource, errUncacheable
	}
	cache, err := p.hub.Start(ctx, resource)
	if err != nil {
		return nil, resource, err
	}
	p.hub.pin(resource)
	return cache, resource, cache.Ready(ctx)
}

func (p *preloads) setResource(name string, resource Resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state[name].resource = resource
}

// denied returns the states of the resources that the service may not list, so that they have no cache.
func (p *preloads) denied() (all []Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, state := range p.state {
		if isDenied(state.failure) && state.resource.Name != "" {
			all = append(all, Status{Resource: state.resource, Freshness: Freshness{Stale: true}, Rejected: true})
		}
	}
	return all
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
		!s.failingSince.IsZero() && time.Since(s.failingSince) > preloadTimeout
}

// checkWarm returns what [Hub.Warm] returns.
func (p *preloads) checkWarm() error {
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
