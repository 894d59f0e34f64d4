package server

import (
	"cmp"
	"net/http"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/kubeapi"
	"github.com/kubeconnect/kubeconnect/server/logs"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/streams"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/writes"
)

// handlers are the handlers of all services.
type handlers struct {
	resources resources
	discovery *discoveryService
	access    *accessService
	pods      *logs.Pods
	// What Kubernetes' own API is served by, too.
	targets     *target.Resolver
	permissions access.Permissions
	leases      access.Leases
}

// resources implements kubeconnect.v1.ResourceService with the handlers of its parts. Nothing else is reached
// through it.
type resources struct {
	*reads.Objects
	*reads.Lists
	*reads.Counts
	*reads.Tables
	*streams.Watches
	*writes.Writes
}

// register has a server serve all services.
func (h handlers) register(server *connect.Server) {
	kubeconnectv1connect.RegisterResourceServiceHandler(server, h.resources)
	kubeconnectv1connect.RegisterDiscoveryServiceHandler(server, h.discovery)
	kubeconnectv1connect.RegisterAccessServiceHandler(server, h.access)
	kubeconnectv1connect.RegisterPodServiceHandler(server, h.pods)
}

// kubernetes returns the handler of Kubernetes' own API.
func (h handlers) kubernetes(config Config, chain *edge.Chain, responses *budget.Responses) http.Handler {
	if config.KubeAPI == "" || config.KubeAPI == kubeapi.Off {
		return http.HandlerFunc(kubeapi.Disabled)
	}
	return kubeapi.New(kubeapi.Config{
		Mode: config.KubeAPI, Chain: chain, Hub: config.Hub, Targets: h.targets, Permissions: h.permissions, Leases: h.leases,
		Clients: cmp.Or(config.LogClients, config.Clients), Responses: responses, Streams: config.Streams, Metrics: config.Edge.Metrics,
		Gzip: config.Edge.Compression == edge.CompressGzip, Origins: config.Edge.CORSOrigins,
	})
}

func newHandlers(config Config, callers *gate.Callers, kept *ledger.Ledger) handlers {
	hub, targets, permissions := config.Hub, target.NewResolver(config.Hub), access.NewPermissions(config.Authorizer, config.Hub)
	leases := access.NewLeases(permissions, config.Recheck)
	reads := reads.New(reads.Config{
		Hub: hub, Targets: targets, Permissions: permissions, Clients: config.Clients, Generation: config.TokenGeneration,
		Limits: config.Edge.Limits, Metrics: config.Edge.Metrics,
	})
	watches := streams.New(streams.Config{
		Hub: hub, Targets: targets, Clients: config.Clients, Reads: reads, Leases: leases, Generation: config.TokenGeneration,
		Callers: callers, Limits: config.Edge.Limits, Metrics: config.Edge.Metrics, Streams: config.Streams, Kept: kept,
	})
	return handlers{
		targets: targets, permissions: permissions, leases: leases,
		resources: resources{reads.Objects, reads.Lists, reads.Counts, reads.Tables, watches, writes.New(hub, targets, config.Clients)},
		discovery: &discoveryService{hub: hub, targets: targets, permissions: permissions},
		access:    &accessService{targets: targets, clients: config.Clients, permissions: permissions, callers: callers},
		pods: logs.New(logs.Config{
			Hub: hub, Targets: targets, Clients: cmp.Or(config.LogClients, config.Clients), Reads: reads, Watches: watches, Leases: leases,
			Metrics: config.Edge.Metrics,
		}),
	}
}
