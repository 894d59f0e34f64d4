package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// audience is a number of watchers of one server, and what each has been brought.
type audience struct {
	connections []*connection
	streams     []*stream
	tallies     []*tally
}

// server is who answers watches: the service, or the API server.
type server struct {
	dial  func() (*connection, error)
	watch func(on *connection, number int, t *tally) (*stream, error)
}

// openers is how many watches are opened at a time.
const openers = 8

// open opens watches, a number of them on each connection. The caller must call
// close.
func (s server) open(ctx context.Context, watchers, perConnection int) (*audience, error) {
	a := &audience{
		connections: make([]*connection, (watchers+perConnection-1)/perConnection),
		streams:     make([]*stream, watchers),
		tallies:     make([]*tally, watchers),
	}
	err := inParallel(ctx, openers, len(a.connections), func(number int) error {
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

// sum adds up what all watchers have been brought.
func (a *audience) sum(of func(*tally) int64) (total int64) {
	for _, t := range a.tallies {
		total += of(t)
	}
	return total
}

func changesOf(t *tally) int64  { return t.changes.Load() }
func messagesOf(t *tally) int64 { return t.messages.Load() }
func bytesOf(t *tally) int64    { return t.bytes.Load() }
func syncedOf(t *tally) int64   { return t.synced.Load() }

// deliveryTimeout is how long watchers may wait for what they are due.
const deliveryTimeout = 2 * time.Minute

// until waits until the sum has reached what is due. A stream that ends is an error.
func (a *audience) until(ctx context.Context, due int64, of func(*tally) int64) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	for a.sum(of) < due {
		if err := a.broken(); err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d were delivered: %w", a.sum(of), due, err)
		}
	}
	return nil
}

func (a *audience) broken() error {
	for i, s := range a.streams {
		select {
		case <-s.ended:
			return errors.Join(fmt.Errorf("watcher %d was cut off", i), s.failure)
		default:
		}
	}
	return nil
}

// token is the resume token of the first watcher.
func (a *audience) token() string {
	if token := a.tallies[0].token.Load(); token != nil {
		return *token
	}
	return ""
}

// watchedBy is a service whose watchers each ask for something.
func (s *service) watchedBy(request func(number int) *kubeconnectv1.WatchRequest) server {
	return server{dial: s.dial, watch: func(on *connection, number int, t *tally) (*stream, error) {
		return s.watch(on, request(number), t.countWatchResponses())
	}}
}

// podsIn asks for the pods of a namespace in their protobuf form.
func podsIn(namespace, token string) func(int) *kubeconnectv1.WatchRequest {
	return func(int) *kubeconnectv1.WatchRequest {
		return &kubeconnectv1.WatchRequest{
			Resource: "pods", Namespace: namespace, ResumeToken: token, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
		}
	}
}

// watchedFrom is the API server whose watchers each follow a namespace from a version.
func (c *controlPlane) watchedFrom(namespace, version string) server {
	return server{dial: c.dial, watch: func(on *connection, _ int, t *tally) (*stream, error) {
		return c.watch(on, namespace, version, asStream, t.countWatchEvents())
	}}
}
