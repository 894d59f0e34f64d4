package watchlist

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var (
	added     = watch.Event{Type: watch.Added, Object: &corev1.Pod{}}
	changed   = watch.Event{Type: watch.Modified, Object: &corev1.Pod{}}
	completes = watch.Event{Type: watch.Bookmark, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}}
)

// watchList is a watch-list whose response a test sends.
type watchList struct {
	*Attempt
	ctx     context.Context
	stalled atomic.Bool // the connection is
}

func begin(t *testing.T, guard *Guard) *watchList {
	t.Helper()
	w := &watchList{}
	var err error
	if w.ctx, w.Attempt, err = guard.Begin(t.Context(), func() bool { return w.stalled.Load() }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.End)
	return w
}

// request sends the request, and returns the response.
func (w *watchList) request(t *testing.T, respond func(*http.Request) (*http.Response, error)) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://api.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := Transport(roundTrip(respond)).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func responseOf(code int, body io.Reader) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: io.NopCloser(body)}, nil
	}
}

// slowly is a response that arrives byte by byte.
type slowly struct{ pause time.Duration }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return copy(p, "x"), nil
}

func TestGuard_LeavesAWatchListThatMakesProgress(t *testing.T) {
	for name, does := range map[string]func(t *testing.T, w *watchList){
		"objects arrive slowly": func(_ *testing.T, w *watchList) {
			for range 100 {
				w.Observe(added)
				time.Sleep(MaxSilence - time.Millisecond)
			}
		},
		"an object arrives slowly": func(t *testing.T, w *watchList) {
			response := w.request(t, responseOf(http.StatusOK, slowly{MaxSilence - time.Millisecond}))
			if _, err := io.ReadFull(response.Body, make([]byte, 100)); err != nil {
				t.Error(err)
			}
		},
		"the response begins late": func(t *testing.T, w *watchList) {
			w.request(t, func(*http.Request) (*http.Response, error) {
				time.Sleep(MaxDelay - time.Millisecond)
				return responseOf(http.StatusOK, http.NoBody)(nil)
			})
		},
		"the API server asks to wait": func(t *testing.T, w *watchList) {
			w.request(t, responseOf(http.StatusTooManyRequests, http.NoBody))
			time.Sleep(time.Hour)
			w.request(t, responseOf(http.StatusOK, http.NoBody))
		},
		"the bookmark is late": func(_ *testing.T, w *watchList) {
			w.Observe(added)
			time.Sleep(MaxSilence - time.Millisecond)
			w.Observe(completes)
			time.Sleep(time.Hour)
		},
		"the bookmark comes after changes": func(_ *testing.T, w *watchList) {
			w.Observe(added)
			for range 10 {
				w.Observe(changed)
				time.Sleep(MaxChanges/10 - time.Millisecond)
			}
			w.Observe(completes)
			for range 100 {
				w.Observe(changed)
				time.Sleep(time.Second)
			}
		},
		"the connection is stalled": func(_ *testing.T, w *watchList) {
			w.Observe(added)
			w.stalled.Store(true)
			time.Sleep(time.Minute + time.Second)
			w.stalled.Store(false)
			w.Observe(added)
		},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				var memory Memory
				w := begin(t, memory.Guard("pods"))
				does(t, w)
				synctest.Wait()
				if w.ctx.Err() != nil || memory.Unfinished() != 0 {
					t.Errorf("the watch-list was ended: %v", context.Cause(w.ctx))
				}
			})
		})
	}
}

func TestGuard_EndsAWatchListThatIsNotCompleted(t *testing.T) {
	for name, test := range map[string]struct {
		does func(t *testing.T, w *watchList)
		ends time.Duration // from the beginning
	}{
		"no response": {func(*testing.T, *watchList) {}, MaxDelay},
		"no events": {func(t *testing.T, w *watchList) {
			w.request(t, responseOf(http.StatusOK, http.NoBody))
		}, MaxSilence},
		"no bookmark": {func(_ *testing.T, w *watchList) {
			w.Observe(added)
			time.Sleep(time.Second)
			w.Observe(added)
		}, time.Second + MaxSilence},
		"changes in place of the bookmark": {func(_ *testing.T, w *watchList) {
			for w.Observe(added); w.ctx.Err() == nil; w.Observe(changed) {
				time.Sleep(time.Second)
			}
		}, time.Second + MaxChanges},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				var memory Memory
				guard, began := memory.Guard("pods"), time.Now()
				w, ended := begin(t, guard), make(chan time.Time, 1)
				context.AfterFunc(w.ctx, func() { ended <- time.Now() })
				test.does(t, w)
				if lasted := (<-ended).Sub(began); lasted != test.ends || !errors.Is(context.Cause(w.ctx), errUnfinished) {
					t.Errorf("the watch-list was ended after %s, want %s: %v", lasted, test.ends, context.Cause(w.ctx))
				}
				if _, _, err := guard.Begin(t.Context(), nil); !errors.Is(err, ErrAvoided) || memory.Unfinished() != 1 {
					t.Errorf("the Reflector gets %v in the place of a list; %d watch-lists were ended", err, memory.Unfinished())
				}
			})
		})
	}
}

// endedBy lets a watch-list of a guard end without a bookmark.
func endedBy(t *testing.T, guard *Guard) {
	t.Helper()
	<-begin(t, guard).ctx.Done()
}

func TestGuard_RemembersThatTheResourceIsListed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		var log strings.Builder
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(before)
		var memory Memory
		first, second := memory.Guard("pods"), memory.Guard("pods")
		go endedBy(t, second)
		endedBy(t, first)
		synctest.Wait()
		first.Listed(nil)
		second.Listed(nil)
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "resource=pods") {
			t.Errorf("the log has %d lines: %s", lines, log.String())
		}
		time.Sleep(Pause - time.Millisecond)
		for name, guard := range map[string]*Guard{"the same": first, "another": memory.Guard("pods")} {
			if _, _, err := guard.Begin(t.Context(), nil); !errors.Is(err, ErrAvoided) {
				t.Errorf("%s Reflector gets %v", name, err)
			}
		}
		begin(t, memory.Guard("nodes"))
		time.Sleep(time.Millisecond)
		begin(t, first)
		if len(memory.avoided) != 0 {
			t.Errorf("after the pause these are known: %v", memory.avoided)
		}
	})
}

// An API server that sends nothing because it has failed does not respond to a list either.
func TestGuard_TriesAgainAfterAListThatFails(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		var memory Memory
		guard := memory.Guard("pods")
		endedBy(t, guard)
		guard.Listed(errors.New("no"))
		begin(t, guard).Observe(completes)
		guard.Listed(nil)
		begin(t, guard)
	})
}
