package kit

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// sharingTime is the time that the first part of a stream waits for others.
const sharingTime = 20 * time.Millisecond

// NewSharingClient returns a client whose watches and counts share streams: those that begin at about
// the same time are the independent parts of one WatchMany of one of the given clients, as a page with
// many live tables does it. When one of them ends, the others often begin again in another stream, with
// their tokens. Each stream also has parts that the service has to reject.
//
// What it returns is recorded and validated like what a Watch or a WatchCounts returns.
func NewSharingClient(t *testing.T, clients ...ResourceClient) ResourceClient {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &sharing{t: t, clients: clients}
	s.openSoon = func() {
		s.streams.Go(func() {
			Last(ctx, sharingTime)
			s.open(ctx)
		})
	}
	service, mux := connect.NewServer(), http.NewServeMux()
	kubeconnectv1connect.RegisterResourceServiceHandler(service, s)
	connecthttp.Mount(mux, service, connecthttp.WithReadMaxBytes(0))
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	harness.Cleanup(t, func() {
		cancel()
		s.streams.Wait()
		server.CloseClientConnections()
		server.Close()
	})
	return harness.Dial(harness.HTTP2(t), server.URL, harness.Connect).Resources
}

// sharing is the service behind a sharing client.
type sharing struct {
	kubeconnectv1connect.ResourceServiceHandler // the other calls, which no client makes

	// Set once.
	t        *testing.T
	clients  []ResourceClient
	openSoon func() // opens a stream of the parts that are waiting then, until the test ends
	streams  sync.WaitGroup

	mu      sync.Mutex // guards waiting
	waiting []*sharedPart
}

func (s *sharing) Watch(ctx context.Context, request *kubeconnectv1.WatchRequest, stream kubeconnectv1connect.ResourceServiceWatchServerStream) error {
	token := request.GetResumeToken()
	request.ResumeToken = ""
	part := &sharedPart{watch: harness.WatchSpecs(request)[0]}
	part.watch.OwnResumeToken = token
	return s.follow(ctx, part, func(message *kubeconnectv1.WatchManyResponse) error { return stream.Send(message.GetResponse()) })
}

func (s *sharing) WatchCounts(ctx context.Context, request *kubeconnectv1.WatchCountsRequest, stream kubeconnectv1connect.ResourceServiceWatchCountsServerStream) error {
	return s.follow(ctx, &sharedPart{counts: request}, func(message *kubeconnectv1.WatchManyResponse) error { return stream.Send(message.GetCounts()) })
}

// follow sends the messages of a part to its client.
func (s *sharing) follow(ctx context.Context, part *sharedPart, send func(*kubeconnectv1.WatchManyResponse) error) error {
	part.left, part.messages = ctx.Done(), make(chan *kubeconnectv1.WatchManyResponse)
	s.join(part)
	for {
		select {
		case message, ok := <-part.messages:
			if !ok {
				return part.err
			}
			if err := send(message); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// join adds a part to the next stream.
func (s *sharing) join(part *sharedPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting = append(s.waiting, part); len(s.waiting) == 1 {
		s.openSoon()
	}
}

// open runs a stream of the parts that are waiting.
func (s *sharing) open(ctx context.Context) {
	s.mu.Lock()
	parts := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	newSharedStream(s.t, parts).run(ctx, s.clients[rand.IntN(len(s.clients))])
}
