package server

import (
	"context"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// waitingAfter is the time without messages after which a stream reports that it waits for a first
// snapshot, so that the client sees that the service is reachable.
const waitingAfter = time.Second

// begun is the result of starting a watch.
type begun struct {
	watch *watch
	err   error
}

// whileWaiting calls begin, and sends messages at an interval until begin returns. token is the
// resume token that the client has sent. It remains valid.
func (s *eventSender) whileWaiting(ctx context.Context, token string, begin func() (*watch, error)) (*watch, error) {
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
		if err := s.sendWaiting(ctx, token); err != nil {
			if b := <-done; b.err == nil {
				b.watch.close()
			}
			return nil, err
		}
		quiet.Reset(bookmarkInterval)
	}
}

// sendWaiting sends a BOOKMARK without a version.
func (s *eventSender) sendWaiting(ctx context.Context, token string) error {
	return s.outlet(ctx, nil, guard{}, &kubeconnectv1.WatchResponse{
		Events:      []*kubeconnectv1.Event{{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK}},
		ResumeToken: token,
		Freshness:   &kubeconnectv1.Freshness{Stale: true},
	})
}
