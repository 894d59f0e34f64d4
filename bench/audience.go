package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// audience is a number of watchers of one server, and a tally of the events of each.
type audience struct {
	connections []*connection
	streams     []*stream
	tallies     []*tally
}

// server is the server of watches: the service, or the API server.
type server struct {
	dial  func() (*connection, error)
	watch func(on *connection, number int, t *tally) (*stream, error)
}

// parallelDials is the number of connections that are opened at the same time.
const parallelDials = 8

// open opens watches, with the given number on each connection. The caller must call close.
func (s server) open(ctx context.Context, watchers, perConnection int) (*audience, error) {
	a := &audience{
		connections: make([]*connection, (watchers+perConnection-1)/perConnection),
		streams:     make([]*stream, watchers),
		tallies:     make([]*tally, watchers),
	}
	err := inParallel(ctx, parallelDials, len(a.connections), func(number int) error {
		on, err := s.dial()
		if err != nil {
			return err
		}
		a.connections[number] = on
		for i := number * perConnection; i < min((number+1)*perConnection, watchers); i++ {
			a.tallies[i] = &tally{}
			if a.streams[i], err = s.watch(on, i, a.tallies[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *audience) close() {
	for _, c := range a.connections {
		if c != nil {
			c.close()
		}
	}
}

// sum returns the sum of one count over all watchers.
func (a *audience) sum(count func(*tally) int64) (total int64) {
	for _, t := range a.tallies {
		total += count(t)
	}
	return total
}

func changesOf(t *tally) int64  { return t.changes.Load() }
func messagesOf(t *tally) int64 { return t.messages.Load() }
func bytesOf(t *tally) int64    { return t.bytes.Load() }
func syncedOf(t *tally) int64   { return t.synced.Load() }

// deliveryTimeout is the time limit for the delivery of changes.
const deliveryTimeout = 2 * time.Minute

// until blocks until the sum of a count over all watchers has reached want. It returns an error if a
// stream ends, or after deliveryTimeout.
func (a *audience) until(ctx context.Context, want int64, count func(*tally) int64) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	for a.sum(count) < want {
		if err := a.broken(); err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d were delivered: %w", a.sum(count), want, err)
		}
	}
	return nil
}

// broken returns an error if a stream has ended.
func (a *audience) broken() error {
	for i, s := range a.streams {
		select {
		case <-s.ended:
			return errors.Join(fmt.Errorf("the stream of watcher %d has ended", i), s.failure)
		default:
		}
	}
	return nil
}

// token returns the last resume token of the first watcher.
func (a *audience) token() string {
	if token := a.tallies[0].token.Load(); token != nil {
		return *token
	}
	return ""
}

// watchedBy returns the service as a server of watches, with a request for each watcher.
func (s *service) watchedBy(request func(number int) *kubeconnectv1.WatchRequest) server {
	return server{dial: s.dial, watch: func(on *connection, number int, t *tally) (*stream, error) {
		return s.watch(on, request(number), t.countWatchResponses())
	}}
}

// podsIn returns requests for the pods of a namespace as protobuf, from a resume token unless that is
// empty.
func podsIn(namespace, token string) func(int) *kubeconnectv1.WatchRequest {
	return func(int) *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{
			Resource: "pods", Namespace: namespace, ResumeToken: token,
			Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
		}
	}
}

// watchedFrom returns the API server as a server of watches of a namespace, from a version.
func (c *controlPlane) watchedFrom(namespace, version string) server {
	return server{dial: c.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		return c.watch(on, namespace, version, asStream, t.countWatchEvents())
	}}
}
