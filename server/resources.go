package server

import (
	"cmp"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// resources implements kubeconnect.v1.ResourceService.
type resources struct {
	*reads
	*watches
	*writes
}

// cluster is the cluster as the handlers of every service use it: its resources, and what callers
// can do with them. Its methods are safe for concurrent use.
type cluster struct {
	hub     *informerhub.Hub
	clients *auth.ClientFactory
	rights  rights
}

// reads has the handlers of Get, List, Count and GetTable.
type reads struct {
	*cluster
	filters    filter.Compiler
	generation string // of resume tokens and page tokens
	lists      *listCache
	liveLists  *fairqueue.Queue // slots to list at the API server
}

// watches has the handlers of Watch, WatchMany and WatchCounts.
type watches struct {
	*reads
	leases  leases
	callers *edge.Callers
	metrics *edge.Metrics
	streams *edge.Streams
	sending *fairqueue.Queue // memory for the messages that streams send, by caller
	counted *follow.Followers[counts.PlanKey, *counts.State]
	pages   *follow.Followers[sorted.OrderKey, *sorted.Objects]
	// joinTurns are the turns to compute the joins of pages; see newJoinTurns.
	joinTurns *fairqueue.Queue
}

// writes has the handlers of the RPCs that change objects.
type writes struct{ *cluster }

func newResources(config Config, callers *edge.Callers, kept *ledger.Ledger) resources {
	c := &cluster{hub: config.Hub, clients: config.Clients, rights: rights{config.Authorizer}}
	r := &reads{
		cluster:    c,
		generation: config.TokenGeneration,
		lists:      newListCache(config.Metrics),
		liveLists:  config.Metrics.Queue("upstream_lists", newLiveLists(config.Limits)),
	}
	w := &watches{
		reads:     r,
		leases:    newLeases(config),
		callers:   callers,
		metrics:   config.Metrics,
		streams:   cmp.Or(config.Streams, edge.NewStreams(0)),
		sending:   config.Metrics.Queue("stream_message_bytes", newSendMemory()),
		counted:   follow.NewFollowers[counts.PlanKey, *counts.State](kept),
		pages:     follow.NewFollowers[sorted.OrderKey, *sorted.Objects](kept),
		joinTurns: config.Metrics.Queue("page_joins", newJoinTurns(config.Limits)),
	}
	config.Metrics.AddFollowers(w.counted.Use)
	config.Metrics.AddFollowers(w.pages.Use)
	return resources{reads: r, watches: w, writes: &writes{c}}
}
