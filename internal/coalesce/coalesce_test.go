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

// TestRequests_FailForACancelledCall has both states of the request that the caller waits for:
// done, and in flight.
func TestRequests_FailForACancelledCall(t *testing.T) {
	requests := New("number", func() (int, error) { return 1, nil })
	requests.Limiter = flowcontrol.NewFakeAlwaysRateLimiter()
	done := make(chan struct{})
	close(done)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has disconnected"))
	for range 50 { // a select takes either
		requests.mu.Lock()
		requests.inFlight = &flight[int]{done: done, answer: 1}
		requests.mu.Unlock()
		if got, err := requests.Fresh(ctx); err == nil {
			t.Fatalf("got %d", got)
		}
		requests.running.Wait()
	}
}

func TestRequests_FailAfterClose(t *testing.T) {
	requests := New("number", func() (int, error) { return 1, nil })
	requests.CloseWithError(errClosed)
	if _, err := requests.Fresh(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}
