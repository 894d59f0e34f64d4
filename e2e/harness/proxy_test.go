package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
)

func TestProxy_ForwardsInBothDirections(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	connection := dial(t, proxy)
	for _, line := range []string{"one", "two"} {
		if got := ask(t, connection, line); got != line {
			t.Errorf("echo of %q is %q", line, got)
		}
	}
}

func TestProxy_RefusedCutsAndKeepsItsAddress(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	before, address := dial(t, proxy), proxy.Address()
	ask(t, before, "one")

	proxy.Set(Refused)
	wantCut(t, before)
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("new connection: %v, want ECONNREFUSED", err)
	}

	proxy.Set(None)
	if proxy.Address() != address {
		t.Errorf("the address changed to %s, was %s", proxy.Address(), address)
	}
	if got := ask(t, dial(t, proxy), "two"); got != "two" {
		t.Errorf("echo is %q, want \"two\"", got)
	}
}

func TestProxy_DroppedAcceptsAndCloses(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	before := dial(t, proxy)
	ask(t, before, "one")
	proxy.Set(Dropped)
	wantCut(t, before)
	wantCut(t, dial(t, proxy))
	proxy.Set(None)
	ask(t, dial(t, proxy), "two")
}

func TestProxy_CutAllowsNewConnections(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	before := dial(t, proxy)
	ask(t, before, "one")
	proxy.Cut()
	wantCut(t, before)
	ask(t, dial(t, proxy), "two")
}

// echo starts a server that returns all bytes that it receives, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, proxy *Proxy) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func ask(t *testing.T, connection net.Conn, line string) string {
	t.Helper()
	if _, err := fmt.Fprintln(connection, line); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return answer[:len(answer)-1]
}

// wantCut fails the test unless the peer has closed the connection.
func wantCut(t *testing.T, connection net.Conn) {
	t.Helper()
	if read, err := connection.Read(make([]byte, 1)); err == nil {
		t.Errorf("the connection is open: read %d bytes", read)
	}
}

func TestStartBalancer_ForwardsToItsTargetsInTurn(t *testing.T) {
	balancer := StartBalancer(t)
	wantCut(t, dial(t, balancer)) // it has no target
	first, second := echo(t), echo(t)
	balancer.AddTarget(first)
	balancer.AddTarget(second)
	open := dial(t, balancer)
	ask(t, open, "one")
	ask(t, dial(t, balancer), "two")
	if forwarded := balancer.Forwarded(); !slices.Equal(forwarded, []int{1, 1}) {
		t.Errorf("connections by target are %v, want one each", forwarded)
	}
	balancer.RemoveTarget(first)
	for range 2 {
		ask(t, dial(t, balancer), "three")
	}
	if forwarded := balancer.Forwarded(); !slices.Equal(forwarded, []int{3}) {
		t.Errorf("connections to the remaining target are %v, want 3", forwarded)
	}
	if got := ask(t, open, "four"); got != "four" {
		t.Errorf("echo of the removed target is %q, want \"four\"", got)
	}
}
