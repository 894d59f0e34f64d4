package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
)

// backgroundTasks returns what runs next to the calls. Each task runs until its context is done.
func (s *service) backgroundTasks(listener endpoint) []func(context.Context) {
	tasks := []func(context.Context){
		func(ctx context.Context) { warnOfUnknown(ctx, s.hub.Resolver(), s.settings.uncached) },
		s.hub.Preload,
		func(ctx context.Context) { followReadiness(ctx, s.hub, s.permissions, s.readiness) },
		func(ctx context.Context) { followContact(ctx, s.hub.Freshness) },
		s.permissions.follow,
		listener.follow,
		s.memory.Run,
	}
	if s.settings.peers != "" {
		tasks = append(tasks, s.balance.Run)
	}
	if s.reload != nil {
		s.reload.apply = func(next settings) {
			s.adjuster.Adjust(next.limits, next.logSample)
			listener.bound.setLimits(openFiles().callersAtMost(next.maxConnections), next.maxConnectionsPerAddress)
		}
		tasks = append(tasks, s.reload.follow)
	}
	return tasks
}

// startTasks runs tasks until stop, which waits for them.
func startTasks(ctx context.Context, tasks ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// warnOfUnknown logs the names of --uncached that match no resource, once the API server has
// responded: a typo would let a resource be cached.
func warnOfUnknown(ctx context.Context, resolver *discovery.Resolver, names []string) {
	if !awaitReached(ctx, resolver) {
		return
	}
	for _, name := range names {
		if _, err := resolver.Resolve(ctx, name); err != nil && ctx.Err() == nil {
			slog.Warn("a name of --uncached matches no resource; "+
				"it applies only to resources that are created with this name later", "error", err)
		}
	}
}
