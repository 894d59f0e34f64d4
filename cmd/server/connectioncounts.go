package main

import (
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
)

// The limits of connections, as they are named in metrics and in the log.
const (
	limitConnections           = "connections"
	limitConnectionsPerAddress = "connections_per_address"
)

// connectionCounts counts the connections of callers, and logs those that a limit closes. The methods of
// a nil connectionCounts do nothing.
type connectionCounts struct {
	open   prometheus.Gauge
	closed *prometheus.CounterVec
}

func newConnectionCounts() *connectionCounts {
	counts := &connectionCounts{
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubeconnect_connections", Help: "Open connections of callers."}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubeconnect_closed_connections_total",
			Help: "Connections that the service has closed because of a limit: connections for --max-connections, " +
				"connections_per_address for --max-connections-per-address.",
		}, []string{"limit"}),
	}
	for _, limit := range []string{limitConnections, limitConnectionsPerAddress} {
		counts.closed.WithLabelValues(limit)
	}
	return counts
}

func (c *connectionCounts) entered() {
	if c != nil {
		c.open.Inc()
	}
}

func (c *connectionCounts) left() {
	if c != nil {
		c.open.Dec()
	}
}

// closedBy records that a connection from a network is closed because of a limit.
func (c *connectionCounts) closedBy(limit string, network netip.Prefix) {
	if c == nil {
		return
	}
	c.closed.WithLabelValues(limit).Inc()
	slog.Warn("a connection is closed because of a limit", "limit", limit, "network", network)
}
