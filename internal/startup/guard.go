package startup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ErrStarting is the error of a question that an API server has denied which is not ready.
var ErrStarting = errors.New("the API server is starting, and may not know all permissions yet")

const (
	// maxStart bounds the time for which an API server that does not say that it is ready counts as starting. Some never say it,
	// because a check fails that does not concern permissions, or do not show it to the service.
	maxStart = 15 * time.Second
	// maxConnections bounds the connections that are known. A client with HTTP/2 has few.
	maxConnections = 64
	// maxChecksBytes bounds what is read of the API server's checks.
	maxChecksBytes = 64 << 10
)

// Guard asks an API server through a client. It is safe for concurrent use.
type Guard struct {
	client   rest.Interface
	http     *http.Client // of client
	maxStart time.Duration

	mu          sync.Mutex // guards connections
	connections map[net.Conn]*connection
}

// connection is a connection over which questions were asked.
type connection struct {
	since time.Time
	ready bool // the API server at its other end has said that it is ready
}

// New returns a guard of questions that are sent through a client.
func New(client rest.Interface) *Guard {
	over := http.DefaultClient // of a client in tests that has no connections
	if of, ok := client.(*rest.RESTClient); ok && of != nil && of.Client != nil {
		over = of.Client
	}
	return &Guard{client: client, http: over, maxStart: maxStart, connections: make(map[net.Conn]*connection)}
}

// Ask calls ask, which sends a question with the context that it gets, and reports whether the answer is a denial. If the API server
// may be starting, Ask calls it once more, or fails with ErrStarting if the API server is not ready. The last call counts.
func (g *Guard) Ask(ctx context.Context, ask func(context.Context) (denied bool, err error)) error {
	used := &usedConnection{}
	denied, err := ask(used.trace(ctx))
	if err != nil || !g.note(used.conn, false) || !denied {
		return err
	}
	ready, err := g.isReady(ctx)
	if err != nil {
		return err
	}
	if !ready {
		return ErrStarting
	}
	_, err = ask(ctx)
	return err
}

// usedConnection is the connection over which a request was sent.
type usedConnection struct {
	mu   sync.Mutex // guards conn while the request is sent
	conn net.Conn
}

func (u *usedConnection) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.conn = got.Conn
	}})
}

// note records that a connection was used, and that the API server is ready. It reports whether the API server may be starting.
func (g *Guard) note(conn net.Conn, ready bool) (starting bool) {
	if conn == nil {
		return false // nothing is known of it
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.connections[conn]
	if known == nil {
		g.forgetOldest()
		known = &connection{since: time.Now()}
		g.connections[conn] = known
	}
	known.ready = known.ready || ready
	return !known.ready && time.Since(known.since) < g.maxStart
}

// forgetOldest makes room for another connection.
func (g *Guard) forgetOldest() {
	if len(g.connections) < maxConnections {
		return
	}
	var oldest net.Conn
	for conn, known := range g.connections {
		if oldest == nil || known.since.Before(g.connections[oldest].since) {
			oldest = conn
		}
	}
	delete(g.connections, oldest)
}

// isReady asks the API server whether it is ready. One that has no such page does not start in this way, and one that is not ready for
// another reason, such as the loss of etcd, has started.
func (g *Guard) isReady(ctx context.Context) (bool, error) {
	used := &usedConnection{}
	request, err := http.NewRequestWithContext(used.trace(ctx), http.MethodGet, g.client.Get().AbsPath("/readyz").URL().String(), nil)
	if err != nil {
		return false, err
	}
	response, err := g.http.Do(request)
	if err != nil {
		return false, fmt.Errorf("asking the API server whether it is ready: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	checks, err := io.ReadAll(io.LimitReader(response.Body, maxChecksBytes)) // a line for each check, unless it is ready
	if err != nil {
		return false, fmt.Errorf("reading whether the API server is ready: %w", err)
	}
	listed := bytes.Contains(checks, []byte("[+]"))
	starts := bytes.Contains(checks, []byte("[-]poststarthook/")) || bytes.Contains(checks, []byte("[-]informer-sync"))
	ready := response.StatusCode == http.StatusOK || response.StatusCode == http.StatusNotFound || listed && !starts
	g.note(used.conn, ready)
	return ready, nil
}
