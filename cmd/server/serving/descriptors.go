package serving

import (
	"log/slog"
)

// MaxReservedDescriptors bounds the file descriptors that connections of callers leave to the rest of the
// service: connections to the API server, connections for metrics, and files.
const MaxReservedDescriptors = 1024

// Descriptors is the number of file descriptors that a process can have open. Connections are bounded
// below it, so that the service can always accept a connection: a probe, a scrape, or a new one in place of
// an old one.
type Descriptors int

func (d Descriptors) reserved() int { return min(int(d)/2, MaxReservedDescriptors) }

// ForCallers returns how many connections callers can have with the value of --max-connections.
func (d Descriptors) ForCallers(maxConnections int) int {
	return min(maxConnections, int(d)-d.reserved())
}

// ForMetrics returns how many connections for metrics can be open, of which limit are wanted.
func (d Descriptors) ForMetrics(limit int) int { return min(limit, d.reserved()/4) }

// callersAtMost is ForCallers, and logs a warning if that is less than the value.
func (d Descriptors) callersAtMost(maxConnections int) int {
	limit := d.ForCallers(maxConnections)
	if limit < maxConnections {
		slog.Warn("the limit of open files is too low for --max-connections: raise it, or lower --max-connections",
			"nofile", int(d), "max_connections", maxConnections, "connections", limit)
	}
	return limit
}
