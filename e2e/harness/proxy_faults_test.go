package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

func TestProxy_FrozenDelaysAndLosesNothing(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	before := dial(t, proxy)
	ask(t, before, "one")

	proxy.Set(Frozen)
	during := dial(t, proxy)
	answers := make(chan string, 2)
	for _, connection := range []net.Conn{before, during} {
		say(t, connection, "two")
		go func() { answers <- hear(connection) }()
	}
	select {
	case answer := <-answers:
		t.Errorf("the frozen proxy forwarded %q", answer)
	default: // a proxy that forwards is detected in some runs; a frozen one never fails
	}

	proxy.Set(None)
	for range 2 {
		if got := <-answers; got != "two" {
			t.Errorf("echo is %q, want \"two\"", got)
		}
	}
}

func TestProxy_MutedForwardsOnlyRequests(t *testing.T) {
	received := make(chan string, 1)
	proxy := StartProxy(t, sink(t, received), Muted)
	connection := dial(t, proxy)
	say(t, connection, "one")
	if got := <-received; got != "one" {
		t.Errorf("the server received %q, want \"one\"", got)
	}
	proxy.Set(Refused)
	if got := hear(connection); got != "" {
		t.Errorf("the muted proxy forwarded %q", got)
	}
}

// sink starts a server that returns each line to its caller and to a channel.
func sink(t *testing.T, received chan<- string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		line := hear(connection)
		_, _ = fmt.Fprintln(connection, line)
		received <- line
	}()
	return listener.Addr().String()
}

func TestProxy_SlowForwardsEverything(t *testing.T) {
	proxy := StartProxy(t, echo(t), Slow)
	long := strings.Repeat("long ", defaultSlowRate/50)
	if got := ask(t, dial(t, proxy), long); got != long {
		t.Errorf("echo has %d bytes, want %d", len(got), len(long))
	}
}

func TestProxy_TornCutsAfterSomeBytes(t *testing.T) {
	proxy := StartProxy(t, echo(t), Torn)
	connection := dial(t, proxy)
	long := strings.Repeat("x", 4*tornBytes)
	_, _ = io.WriteString(connection, long) // the connection may be closed already
	received, _ := io.ReadAll(connection)
	if len(received) >= tornBytes || !strings.HasPrefix(long, string(received)) {
		t.Errorf("received %d bytes, want a prefix shorter than %d", len(received), tornBytes)
	}
	proxy.Set(None)
	ask(t, dial(t, proxy), "two")
}

func TestProxy_FrozenConnectionsCanBeCut(t *testing.T) {
	proxy := StartProxy(t, echo(t), Frozen)
	connection := dial(t, proxy)
	say(t, connection, "one")
	proxy.Set(Refused)
	wantCut(t, connection)
}

func TestProxy_SetAfterStartsFaultAfterBytes(t *testing.T) {
	for name, fault := range map[string]Fault{"dropped": Dropped, "half-open": Frozen} {
		t.Run(name, func(t *testing.T) {
			proxy := StartProxy(t, echo(t), None)
			connection := dial(t, proxy)
			ask(t, connection, "one")
			begun := proxy.SetAfter(len("two\n")+1, fault)
			say(t, connection, "two")
			received := make([]byte, 1)
			if _, err := io.ReadFull(connection, received); err != nil || string(received) != "t" {
				t.Errorf("received %q, %v, want \"t\"", received, err)
			}
			<-begun
			proxy.Set(None)
			if rest, _ := bufio.NewReader(connection).ReadString('\n'); (rest == "wo\n") != (fault == Frozen) {
				t.Errorf("received %q after the fault", rest)
			}
		})
	}
}

func TestProxy_SetCancelsPendingFault(t *testing.T) {
	proxy := StartProxy(t, echo(t), None)
	connection := dial(t, proxy)
	proxy.SetAfter(1, Dropped)
	proxy.Set(None)
	ask(t, connection, "one")
}

func say(t *testing.T, connection net.Conn, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(connection, line); err != nil {
		t.Fatal(err)
	}
}

// hear returns the next line, or an empty string if the connection ends first.
func hear(connection net.Conn) string {
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSuffix(line, "\n")
}
