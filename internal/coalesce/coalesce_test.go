package coalesce

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var errClosed = errors.New("closed")

// counted returns requests that take a second, and their number.
func counted() (*Requests[int], *int) {
	sent := 0
	return New("number", func() (int, error) {
		sent++
		number := sent
		time.Sleep(time.Second)
		return number, nil
	}), &sent
}

// TestRequests_FreshAnswersWereRequestedAfterTheCall has callers that come while a request is in
// flight. They share the next one.
func TestRequests_FreshAnswersWereRequestedAfterTheCall(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		requests, sent := counted()
		var callers sync.WaitGroup
		callers.Go(func() {
			if got, err := requests.Fresh(t.Context()); got != 1 || err != nil {
				t.Errorf("the first caller got %d, %v", got, err)
			}
		})
		time.Sleep(time.Second / 2)
		for range 10 {
			callers.Go(func() {
				if got, err := requests.Fresh(t.Context()); got != 2 || err != nil {
					t.Errorf("a later caller got %d, %v", got, err)
				}
			})
		}
		callers.Wait()
		if *sent != 2 || requests.Last() != 2 {
			t.Errorf("%d requests were sent, and the last answer is %d", *sent, requests.Last())
		}
	})
}

func TestRequests_RecentAnswersNeedNoRequest(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		requests, _ := counted()
		for _, step := range []struct {
			pause time.Duration
			want  int
		}{{pause: 0, want: 1}, {pause: time.Minute, want: 1}, {pause: time.Hour, want: 2}} {
			time.Sleep(step.pause)
			if got, err := requests.Recent(t.Context(), time.Hour); got != step.want || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, step.want)
			}
		}
		time.Sleep(time.Hour)
		if got, ok := requests.LastWithin(time.Hour); ok {
			t.Errorf("%d is not that recent", got)
		}
	})
}

// TestRequests_FailForACancelledCall has every state of the request that the caller waits for: it has
// ended, it is in flight, or the caller starts it, and it may end before the caller waits.
func TestRequests_FailForACancelledCall(t *testing.T) {
	requests := New("number", func() (int, error) { return 1, nil })
	requests.Limiter = flowcontrol.NewFakeAlwaysRateLimiter()
	ended := make(chan struct{})
	close(ended)
	errLeft := errors.New("the caller has disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLeft)
	for name, before := range map[string]*flight[int]{
		"ended": {done: ended, answer: 1}, "in flight": {done: make(chan struct{})}, "started": nil,
	} {
		for range 50 { // a select takes any of the channels that are ready
			requests.mu.Lock()
			requests.inFlight = before
			requests.mu.Unlock()
			if got, err := requests.Fresh(ctx); !errors.Is(err, errLeft) {
				t.Fatalf("%s: got %d, %v", name, got, err)
			}
			requests.running.Wait()
		}
	}
	for range 50 {
		if err := requests.wait(ctx, &flight[int]{done: ended}); !errors.Is(err, errLeft) {
			t.Fatalf("a request that has ended before the caller waits: %v", err)
		}
	}
}

func TestRequests_FailAfterClose(t *testing.T) {
	requests := New("number", func() (int, error) { return 1, nil })
	requests.CloseWithError(errClosed)
	if _, err := requests.Fresh(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}
