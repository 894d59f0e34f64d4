package serving

import (
	"container/list"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/auth"
)

// Connections is a listener that bounds the open connections, in total and from one network (see
// auth.PeerNetwork). Above the total, the network with the most connections loses its newest one.
// Therefore clients that take all connections take them from each other, and a probe from another
// network gets one.
type Connections struct {
	net.Listener
	counts *Counts // nil if they are not counted

	mu                sync.Mutex // guards the fields below
	max, maxOfNetwork int
	open              int
	networks          map[netip.Prefix]*list.List // of *connection, in the order of their arrival
}

// Bound returns a listener that accepts at most limit open connections from another one, and limitOfNetwork
// of one network. They are counted in counts, unless it is nil.
func Bound(listener net.Listener, limit, limitOfNetwork int, counts *Counts) *Connections {
	return &Connections{
		Listener:     listener,
		counts:       counts,
		max:          limit,
		maxOfNetwork: limitOfNetwork,
		networks:     map[netip.Prefix]*list.List{},
	}
}

// SetLimits changes the limits. Open connections stay open.
func (c *Connections) setLimits(limit, limitOfNetwork int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.max, c.maxOfNetwork = limit, limitOfNetwork
}

// connection is a connection that counts until it is closed.
type connection struct {
	net.Conn
	owner   *Connections
	network netip.Prefix
	element *list.Element // guarded by the mutex of owner; nil when the connection no longer counts
}

// Accept implements net.Listener. It closes a rejected connection before anything is read.
func (c *Connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &connection{Conn: accepted, owner: c, network: auth.PeerNetwork(accepted.RemoteAddr().String())}
		evicted := c.enter(conn)
		if evicted != nil {
			_ = evicted.Conn.Close() // the server that reads it closes it too
		}
		if evicted != conn {
			return conn, nil
		}
	}
}

// enter counts a connection, and returns the connection to close for it: nil, another one, or
// itself.
func (c *Connections) enter(conn *connection) (evicted *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.networks[conn.network]
	if open == nil {
		open = list.New()
		c.networks[conn.network] = open
	}
	conn.element = open.PushBack(conn)
	c.open++
	c.counts.entered()
	limit := limitConnectionsPerAddress
	switch {
	case open.Len() > c.maxOfNetwork:
		evicted = conn
	case c.open > c.max:
		limit, evicted = limitConnections, c.mostLocked().Back().Value.(*connection)
	default:
		return nil
	}
	c.leaveLocked(evicted)
	c.counts.closedBy(limit, evicted.network)
	return evicted
}

// mostLocked returns the connections of the network that has the most.
func (c *Connections) mostLocked() *list.List {
	var most *list.List
	for _, open := range c.networks {
		if most == nil || open.Len() > most.Len() {
			most = open
		}
	}
	return most
}

func (c *Connections) leaveLocked(conn *connection) {
	if conn.element == nil {
		return
	}
	open := c.networks[conn.network]
	open.Remove(conn.element)
	conn.element = nil
	c.open--
	c.counts.left()
	if open.Len() == 0 {
		delete(c.networks, conn.network)
	}
}

// Close implements net.Conn.
func (conn *connection) Close() error {
	conn.owner.mu.Lock()
	conn.owner.leaveLocked(conn)
	conn.owner.mu.Unlock()
	return conn.Conn.Close()
}

// CloseWrite is used by net/http, which lets a client read a response that it did not wait for.
func (conn *connection) CloseWrite() error {
	if half, ok := conn.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// The limits of connections, as they are named in metrics and in the log.
const (
	limitConnections           = "connections"
	limitConnectionsPerAddress = "connections_per_address"
)

// Counts counts the connections of callers, and logs those that a limit closes. The methods of
// a nil Counts do nothing.
type Counts struct {
	open   prometheus.Gauge
	closed *prometheus.CounterVec
}

// NewCounts returns the counts of one listener.
func NewCounts() *Counts {
	counts := &Counts{
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

// Metrics returns the metrics that are counted.
func (c *Counts) Metrics() []prometheus.Collector {
	return []prometheus.Collector{c.open, c.closed}
}

func (c *Counts) entered() {
	if c != nil {
		c.open.Inc()
	}
}

func (c *Counts) left() {
	if c != nil {
		c.open.Dec()
	}
}

// closedBy records that a connection from a network is closed because of a limit.
func (c *Counts) closedBy(limit string, network netip.Prefix) {
	if c == nil {
		return
	}
	c.closed.WithLabelValues(limit).Inc()
	slog.Warn("a connection is closed because of a limit", "limit", limit, "network", network)
}
