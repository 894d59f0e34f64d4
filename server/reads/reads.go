package reads

import (
	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Reads are the handlers of reads, and what streams use of them.
type Reads struct {
	Objects   *Objects
	Relations *Relations
	Snapshots *Snapshots
	Lists     *Lists
	Counts    *Counts
	Tables    *Tables
}

// Config configures reads. All fields are required.
type Config struct {
	Hub         *informerhub.Hub
	Targets     *target.Resolver
	Permissions access.Permissions
	Clients     *auth.ClientFactory
	// Generation is part of every page token: a list of another generation has expired.
	Generation string
	Limits     gate.Limits
	Metrics    *observe.Metrics
}

// New returns the handlers of reads. They share what bounds and caches work: the slots to list at the API server, the compiled
// filters, and the cached lists.
func New(config Config) *Reads {
	hub, targets, permissions := config.Hub, config.Targets, config.Permissions
	upstream := &Upstream{hub: hub, clients: config.Clients, slots: config.Metrics.Queue("upstream_lists", newUpstreamLists(config.Limits))}
	objects := &Objects{hub: hub, targets: targets, permissions: permissions, upstream: upstream}
	relations := &Relations{hub: hub, targets: targets, permissions: permissions, objects: objects}
	snapshots := &Snapshots{
		hub: hub, targets: targets, permissions: permissions, relations: relations, upstream: upstream, filters: &filter.Compiler{},
	}
	return &Reads{
		Objects: objects, Relations: relations, Snapshots: snapshots,
		Lists: &Lists{
			hub: hub, targets: targets, permissions: permissions, snapshots: snapshots,
			generation: config.Generation, cache: newListCache(config.Metrics),
		},
		Counts: &Counts{snapshots: snapshots},
		Tables: &Tables{hub: hub, targets: targets, upstream: upstream},
	}
}
