package server

import (
	"context"
	"sync/atomic"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// waitingAfter is the time without messages after which a stream reports that it waits for a first
// snapshot or for a version, so that the client sees that the service is reachable.
const waitingAfter = time.Second

// startingWatch is a watch that waits for the first snapshot of its resource, or for a version.
type startingWatch struct {
	params watchParams
	lease  *accessLease
	cache  atomic.Pointer[informerhub.Cache] // nil before the first snapshot
}

// freshness returns how current the cache is; stale before the first snapshot.
func (w *startingWatch) freshness() *kubeconnectv1.Freshness {
	if cache := w.cache.Load(); cache != nil {
		return encode.Freshness(cache.Freshness())
	}
	return &kubeconnectv1.Freshness{Stale: true}
}

// begun is the result of starting a watch.
type begun struct {
	watch *watch
	err   error
}

// whileWaiting calls begin, and sends messages at an interval until begin returns.
func (s *eventSender) whileWaiting(ctx context.Context, starting *startingWatch, begin func() (*watch, error)) (*watch, error) {
	s.setKind(starting.params.metadataOnly, starting.lease)
	done := make(chan begun, 1)
	go func() { // ends with begin, which whileWaiting waits for
		watch, err := begin()
		done <- begun{watch, err}
	}()
	quiet := time.NewTimer(waitingAfter)
	defer quiet.Stop()
	for {
		select {
		case b := <-done:
			return b.watch, b.err
		case <-quiet.C:
		}
		if err := s.sendWaiting(ctx, starting); err != nil {
			if b := <-done; b.err == nil {
				b.watch.close()
			}
			return nil, err
		}
		quiet.Reset(bookmarkInterval)
	}
}

// sendWaiting sends a BOOKMARK without a version, with the resume token that the client has sent. The
// token remains valid.
func (s *eventSender) sendWaiting(ctx context.Context, starting *startingWatch) error {
	s.response.Events = []*kubeconnectv1.Event{{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK}}
	s.response.ResumeToken, s.response.Freshness = starting.params.resumeToken, starting.freshness()
	defer s.response.Reset()
	return s.outlet(ctx, nil, edge.Guard{}, &s.response)
}
