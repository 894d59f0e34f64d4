package streamlife

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// cutAfter begins a write that blocks, and returns the time after which the stream ends. The write
// makes progress at an interval, if that is set, by a number of bytes.
func cutAfter(t *testing.T, timeout UnreadTimeout, guarded Guard, progress time.Duration, bytes int) (after time.Duration, failure error) {
	t.Helper()
	began, ended := time.Now(), make(chan struct{})
	u := &Unread{timeout: timeout, cut: func() { close(ended) }, drop: func() {}}
	u.SetGuard(guarded)
	u.Begin()
	defer u.Pause()
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
			u.progress(bytes)
		}
	}
}

func TestUnread_EndsTheStreamAtItsTimeout(t *testing.T) {
	isContended := func(contended bool) Guard { return Guard{Contended: func() bool { return contended }} }
	for name, test := range map[string]struct {
		timeout  UnreadTimeout
		guarded  Guard
		progress time.Duration
		bytes    int
		want     time.Duration
	}{
		"nothing is read":                               {WatchUnreadTimeout, Guard{}, 0, 0, 30 * time.Second},
		"it is read slowly":                             {WatchUnreadTimeout, Guard{}, 7 * time.Second, 100, 2 * time.Minute},
		"nothing is read, and others wait":              {WatchUnreadTimeout, isContended(true), 0, 0, 3 * time.Second},
		"nothing is read, and nobody waits":             {WatchUnreadTimeout, isContended(false), 0, 0, 30 * time.Second},
		"it is read slowly, and others wait":            {WatchUnreadTimeout, isContended(true), time.Second / 2, 20_000, 4 * time.Second},
		"it is read slowly, and nobody waits":           {WatchUnreadTimeout, isContended(false), time.Second / 2, 20_000, 2 * time.Minute},
		"it is read at the least rate, and others wait": {WatchUnreadTimeout, isContended(true), time.Second / 2, contendedRate / 2, 2 * time.Minute},
		"nothing is read of a log":                      {UnreadTimeout{}, Guard{}, 0, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				after, failure := cutAfter(t, test.timeout, test.guarded, test.progress, test.bytes)
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
		after, failure := cutAfter(t, UnreadTimeout{}, Guard{Holds: holds}, 0, 0)
		if after != 10*time.Second || !errors.Is(failure, lost) {
			t.Errorf("the stream ends after %v with %v", after, failure)
		}
	})
}

// TestUnread_DropsAConnectionThatStaysBlocked has a write that an expired deadline does not end, because nothing can be written to the
// connection.
func TestUnread_DropsAConnectionThatStaysBlocked(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		began, dropped := time.Now(), make(chan time.Duration, 1)
		u := &Unread{timeout: WatchUnreadTimeout, cut: func() {}, drop: func() { dropped <- time.Since(began) }}
		u.Begin()
		if after := <-dropped; after != WatchUnreadTimeout.Idle+dropAfter {
			t.Errorf("the connection is closed after %v", after)
		}
		u.Pause()
		ended := &Unread{timeout: WatchUnreadTimeout, drop: func() { t.Error("the connection of a stream that has ended is closed") }}
		ended.cut = func() { go ended.Pause() }
		ended.Begin()
		time.Sleep(time.Hour)
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
		u := &Unread{cut: func() { t.Error("the stream is ended") }}
		u.SetGuard(Guard{Holds: holds})
		for range 2 {
			u.Begin()
			time.Sleep(unreadInterval + time.Millisecond)
			if !checking.Load() {
				t.Fatal("nothing is checked")
			}
			u.Pause()
			if checking.Load() {
				t.Fatal("the handler continues while the check is under way")
			}
		}
	})
}
