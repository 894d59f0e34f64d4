package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A server that closes a connection before it has read the request waits half a second for the client.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listenAnywhere returns a listener on a free loopback port.
func listenAnywhere(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	succeeds(t, err)
	return listener
}

// serveHTTP serves a handler until the context is done, and then ends the streams and shuts down.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, endStreams func()) error {
	started := Start(listener, handler)
	err := started.Wait(ctx)
	endStreams()
	return errors.Join(err, started.CloseListener(), started.FinishCalls(10*time.Second))
}
