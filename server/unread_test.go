package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// cutAfter begins a write that blocks, and returns the time after which the stream ends. The write
// makes progress at an interval, if that is set.
func cutAfter(t *testing.T, patience readPatience, guarded guard, progress time.Duration) (after time.Duration, failure error) {
	t.Helper()
	began, ended := time.Now(), make(chan struct{})
	u := &unread{patience: patience, ctx: t.Context(), cut: func() { close(ended) }}
	u.setGuard(guarded)
	u.begin()
	defer u.pause()
	for {
		next := time.Hour
		if progress > 0 {
			next = progress
		}
		select {
		case <-ended:
			synctest.Wait()
			return time.Since(began), u.failure
		case <-time.After(next):
			if progress == 0 {
				return time.Hour, nil
			}
			u.progress()
		}
	}
}

func TestUnread_EndsTheStreamWhenPatienceIsOver(t *testing.T) {
	isAwaited := func(awaited bool) guard { return guard{awaited: func() bool { return awaited }} }
	for name, test := range map[string]struct {
		patience readPatience
		guarded  guard
		progress time.Duration
		want     time.Duration
	}{
		"nothing is read":                                {watchPatience, guard{}, 0, 30 * time.Second},
		"it is read slowly":                              {watchPatience, guard{}, 7 * time.Second, 2 * time.Minute},
		"nothing is read, and others wait":               {watchPatience, isAwaited(true), 0, 3 * time.Second},
		"nothing is read, and nobody waits":              {watchPatience, isAwaited(false), 0, 30 * time.Second},
		"something is read each second, and others wait": {watchPatience, isAwaited(true), time.Second, 2 * time.Minute},
		"nothing is read of a log":                       {readPatience{}, guard{}, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				after, failure := cutAfter(t, test.patience, test.guarded, test.progress)
				if after != test.want {
					t.Errorf("the stream ends after %v, want %v", after, test.want)
				}
				if test.want != time.Hour && !errors.Is(failure, errUnread) {
					t.Errorf("the stream ends with %v", failure)
				}
			})
		})
	}
}

func TestUnread_EndsTheStreamWhenTheMessageMayNotBeSentAnyMore(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lost, began := errors.New("lost"), time.Now()
		holds := func(context.Context) error {
			if time.Since(began) < 10*time.Second {
				return nil
			}
			return lost
		}
		after, failure := cutAfter(t, readPatience{}, guard{holds: holds}, 0)
		if after != 10*time.Second || !errors.Is(failure, lost) {
			t.Errorf("the stream ends after %v with %v", after, failure)
		}
	})
}

// The handler continues when no check is running: a check that is no longer needed, because the
// client has read, gives up and does not end the stream.
func TestUnread_ContinuedWritesEndTheCheck(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		var checking atomic.Bool
		holds := func(ctx context.Context) error {
			checking.Store(true)
			<-ctx.Done()
			time.Sleep(time.Second)
			checking.Store(false)
			return ctx.Err()
		}
		u := &unread{ctx: t.Context(), cut: func() { t.Error("the stream is ended") }}
		u.setGuard(guard{holds: holds})
		for range 2 {
			u.begin()
			time.Sleep(unreadInterval + time.Millisecond)
			if !checking.Load() {
				t.Fatal("nothing is checked")
			}
			u.pause()
			if checking.Load() {
				t.Fatal("the handler continues while the check is under way")
			}
		}
	})
}

func TestUnreadLogs_AreBounded(t *testing.T) {
	queue := fairqueue.New(fairqueue.Limits{Total: 3, PerKey: 2})
	logs := []*unreadLog{{queue: queue, caller: "jane"}, {queue: queue, caller: "jane"}, {queue: queue, caller: "jane"}, {queue: queue, caller: "joe"}}
	for i, wantFits := range []bool{true, true, false, true} {
		for range 2 { // it is checked each second
			if err := logs[i].fits(); (err == nil) != wantFits {
				t.Errorf("log %d: %v", i, err)
			}
		}
	}
	logs[0].end()
	logs[2].end()
	if err := logs[2].fits(); err != nil {
		t.Errorf("once another one is read: %v", err)
	}
}
