package server

import (
	"cmp"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
)

// handlers are the handlers of all services.
type handlers struct {
	resources resources
	discovery *discoveryService
	access    *accessService
	pods      *Pods
}

// resources implements kubeconnect.v1.ResourceService with the handlers of its parts. Nothing else is reached
// through it.
type resources struct {
	*Objects
	*Lists
	*Counts
	*Tables
	*Watches
	*Writes
}

func newHandlers(config Config, callers *edge.Callers, kept *ledger.Ledger) handlers {
	hub, targets, permissions := config.Hub, newCluster(config.Hub), newRights(config.Authorizer)
	leases := newLeases(permissions, config.Recheck)
	reads := NewReads(ReadsConfig{
		Hub: hub, Targets: targets, Permissions: permissions, Clients: config.Clients, Generation: config.TokenGeneration,
		Limits: config.Limits, Metrics: config.Metrics,
	})
	watches := NewWatches(WatchesConfig{
		Hub: hub, Targets: targets, Clients: config.Clients, Reads: reads, Leases: leases, Generation: config.TokenGeneration,
		Callers: callers, Limits: config.Limits, Metrics: config.Metrics, Streams: config.Streams, Kept: kept,
	})
	return handlers{
		resources: resources{reads.Objects, reads.Lists, reads.Counts, reads.Tables, watches, NewWrites(hub, targets, config.Clients)},
		discovery: &discoveryService{hub: hub, targets: targets, permissions: permissions},
		access:    &accessService{targets: targets, clients: config.Clients, permissions: permissions, callers: callers},
		pods: NewPods(PodsConfig{
			Hub: hub, Targets: targets, Clients: cmp.Or(config.LogClients, config.Clients), Reads: reads, Watches: watches, Leases: leases,
			Metrics: config.Metrics,
		}),
	}
}
