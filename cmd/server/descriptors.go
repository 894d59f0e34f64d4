package main

import (
	"fmt"
	"log/slog"

	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
)

// maxReservedDescriptors bounds the file descriptors that connections of callers leave to the rest of the
// service: connections to the API server, connections for metrics, and files.
const maxReservedDescriptors = 1024

// descriptors is the number of file descriptors that a process can have open. Connections are bounded
// below it, so that the service can always accept a connection: a probe, a scrape, or a new one in place of
// an old one.
type descriptors int

func (d descriptors) reserved() int { return min(int(d)/2, maxReservedDescriptors) }

// forCallers returns how many connections callers can have with the value of --max-connections.
func (d descriptors) forCallers(maxConnections int) int {
	return min(maxConnections, int(d)-d.reserved())
}

// forMetrics returns how many connections for metrics can be open.
func (d descriptors) forMetrics() int { return min(maxMetricsConnections, d.reserved()/4) }

// callersAtMost is forCallers, and logs a warning if that is less than the value.
func (d descriptors) callersAtMost(maxConnections int) int {
	limit := d.forCallers(maxConnections)
	if limit < maxConnections {
		slog.Warn("the limit of open files is too low for --max-connections: raise it, or lower --max-connections",
			"nofile", int(d), "max_connections", maxConnections, "connections", limit)
	}
	return limit
}

// checkDescriptors checks whether --max-connections fits into the limit of open files.
func checkDescriptors(d descriptors, maxConnections int) preflight.Result {
	const check = "open files"
	found := fmt.Sprintf("the limit (nofile) is %d, and --max-connections is %d", d, maxConnections)
	if limit := d.forCallers(maxConnections); limit < maxConnections {
		return preflight.Result{
			Check: check, Outcome: preflight.Warning, Found: found,
			Consequence: fmt.Sprintf("At most %d connections of callers are open at a time; the rest is reserved for the API server, probes and metrics.", limit),
			Remedy: fmt.Sprintf("Raise the hard limit of the process to %d or more (ulimit -n, LimitNOFILE of systemd, or the container runtime), or lower --max-connections.",
				maxConnections+maxReservedDescriptors),
		}
	}
	return preflight.Result{Check: check, Outcome: preflight.OK, Found: found}
}
