package server

import (
	"context"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// waitingAfter is how long a stream may wait for a first snapshot before it says so: the client then
// knows that the service is there.
const waitingAfter = time.Second

// begun is what has come of beginning to follow.
type begun struct {
	watch *watch
	err   error
}

// whileWaiting calls begin, and says at an interval that the stream waits until begin returns. The
// token is the one that the client has presented, which remains good.
func (s *eventSender) whileWaiting(ctx context.Context, token string, begin func() (*watch, error)) (*watch, error) {
	done := make(chan begun, 1)
	go func() { // ends with begin, for which this waits
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
		if err := s.tellWaiting(ctx, token); err != nil {
			if b := <-done; b.err == nil {
				b.watch.end()
			}
			return nil, err
		}
		quiet.Reset(bookmarkInterval)
	}
}

// tellWaiting sends a BOOKMARK without a version.
func (s *eventSender) tellWaiting(ctx context.Context, token string) error {
	return s.to(ctx, nil, guard{}, &kubeconnectv1.WatchResponse{
		Events:      []*kubeconnectv1.Event{{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK}},
		ResumeToken: token,
		Freshness:   &kubeconnectv1.Freshness{Stale: true},
	})
}
