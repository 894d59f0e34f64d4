package serving

import (
	"net"
	"testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
)

// dialed is a listener for connections from the addresses that a test names.
type dialed struct {
	net.Listener
	from chan string
}

func (d dialed) Accept() (net.Conn, error) { return &fakeConn{from: <-d.from}, nil }

type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

type fakeAddress string

func (fakeAddress) Network() string  { return "tcp" }
func (a fakeAddress) String() string { return string(a) }

func (c *fakeConn) RemoteAddr() net.Addr { return fakeAddress(c.from) }

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

// visitors accepts connections from addresses.
type visitors struct {
	*Connections
	from chan string
}

func newVisitors(limit, limitOfNetwork int) visitors {
	from := make(chan string, 100)
	return visitors{Bound(dialed{from: from}, limit, limitOfNetwork, NewCounts()), from}
}

func (v visitors) accept(t *testing.T, from string) *connection {
	t.Helper()
	v.from <- from
	conn, err := v.Accept()
	succeeds(t, err)
	return conn.(*connection)
}

func isOpen(c *connection) bool { return !c.Conn.(*fakeConn).closed }

func TestConnections_BoundsEachNetwork(t *testing.T) {
	v := newVisitors(10, 2)
	first := v.accept(t, "10.0.0.1:1")
	v.accept(t, "10.0.0.1:2")
	v.from <- "10.0.0.1:3" // rejected
	if other := v.accept(t, "10.0.0.2:1"); other.RemoteAddr().String() != "10.0.0.2:1" {
		t.Errorf("accepted %s", other.RemoteAddr())
	}
	succeeds(t, first.Close())
	v.accept(t, "10.0.0.1:4")
	if v.open != 3 {
		t.Errorf("counts %d connections", v.open)
	}
}

func TestConnections_IPv6AddressesAreCountedByNetwork(t *testing.T) {
	v := newVisitors(10, 1)
	v.accept(t, "[2001:db8::1]:1")
	v.from <- "[2001:db8::2]:1" // rejected
	if other := v.accept(t, "[2001:db8:0:1::1]:1"); !isOpen(other) {
		t.Error("another network is rejected")
	}
}

// TestConnections_LargestNetworkLosesItsNewest leaves a connection for a probe.
func TestConnections_LargestNetworkLosesItsNewest(t *testing.T) {
	v := newVisitors(4, 4)
	few := v.accept(t, "10.0.0.2:1")
	oldest := v.accept(t, "10.0.0.1:1")
	v.accept(t, "10.0.0.1:2")
	newest := v.accept(t, "10.0.0.1:3")
	probe := v.accept(t, "10.0.0.3:1")
	if isOpen(newest) || !isOpen(oldest) || !isOpen(few) || !isOpen(probe) {
		t.Errorf("open connections: newest %v, oldest %v, of a few %v, the probe %v", isOpen(newest), isOpen(oldest), isOpen(few), isOpen(probe))
	}
	succeeds(t, newest.Close()) // by the server: it no longer counts
	if v.open != 4 || len(v.networks) != 3 {
		t.Errorf("counts %d connections of %d networks", v.open, len(v.networks))
	}
	for _, conn := range []*connection{few, oldest, probe} {
		succeeds(t, conn.Close())
		succeeds(t, conn.Close())
	}
	if v.open != 1 || len(v.networks) != 1 {
		t.Errorf("counts %d connections of %d networks after all but one were closed", v.open, len(v.networks))
	}
}

func TestConnections_AreCountedAndLoggedIfALimitClosesThem(t *testing.T) {
	logged := servertest.CaptureLog(t)
	v := newVisitors(3, 2)
	first := v.accept(t, "10.0.0.1:1")
	v.accept(t, "10.0.0.1:2")
	v.from <- "10.0.0.1:3" // rejected
	v.accept(t, "10.0.0.2:1")
	v.accept(t, "10.0.0.3:1") // takes that of the largest network
	succeeds(t, first.Close())
	if open := servertest.ValueOf(t, v.counts.open); open != 2 {
		t.Errorf("%v connections are open, want 2", open)
	}
	for _, limit := range []string{limitConnections, limitConnectionsPerAddress} {
		if closed := servertest.ValueOf(t, v.counts.closed.WithLabelValues(limit)); closed != 1 {
			t.Errorf("%v connections are closed by the limit %s, want 1", closed, limit)
		}
	}
	for _, want := range []string{"limit=connections_per_address network=10.0.0.1/32", "limit=connections network=10.0.0.1/32"} {
		if logged.Count(want) != 1 {
			t.Errorf("%s is missing in the log", want)
		}
	}
}
