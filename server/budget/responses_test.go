package budget

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// smallAnswers have memory for 100 bytes, of which one caller can use 40.
func smallAnswers() *Responses {
	of := NewResponses(gate.Limits{}, observe.NewMetrics())
	of.Memory = fairqueue.New(fairqueue.Limits{Total: 100, PerKey: 40, Waiting: maxResponsesWaiting})
	return of
}

// call makes a call whose response needs the given memory, and returns the error that it was
// rejected with.
func (m *Responses) call(ctx context.Context, name string, bytes int, w http.ResponseWriter) (refusal error) {
	m.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal = ReserveResponse(r.Context(), bytes); refusal == nil {
			_, refusal = w.Write(make([]byte, 48<<10))
		}
	})).ServeHTTP(w, httptest.NewRequestWithContext(servertest.CalledBy(ctx, name), http.MethodPost, "/", http.NoBody))
	return refusal
}

// unreadWriter is a connection whose client reads a piece only on request.
type unreadWriter struct {
	http.ResponseWriter
	reads   chan struct{}
	expired chan struct{}
	once    sync.Once
}

func newUnreadWriter() *unreadWriter {
	return &unreadWriter{ResponseWriter: httptest.NewRecorder(), reads: make(chan struct{}), expired: make(chan struct{})}
}

func (w *unreadWriter) Write(p []byte) (int, error) {
	select {
	case <-w.reads:
		return len(p), nil
	case <-w.expired:
		return 0, os.ErrDeadlineExceeded
	}
}

func (w *unreadWriter) SetWriteDeadline(at time.Time) error {
	if at.Before(time.Now()) {
		w.once.Do(func() { close(w.expired) })
	}
	return nil
}

func TestResponseMemory_IsBoundedForEachCaller(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		of, unread := smallAnswers(), newUnreadWriter()
		of.unreadTimeout.IdleContended = 0 // no limit
		var sending sync.WaitGroup
		sending.Go(func() {
			if err := of.call(t.Context(), "a", 30, unread); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var over *callerrors.LimitError
		if err := of.call(t.Context(), "a", 30, httptest.NewRecorder()); !errors.As(err, &over) || over.Seconds() < 1 {
			t.Errorf("one more of the caller returned %v", err)
		}
		if err := of.call(t.Context(), "b", 30, httptest.NewRecorder()); err != nil {
			t.Errorf("one of another caller returned %v", err)
		}
		close(unread.reads)
		sending.Wait()
		if err := of.call(t.Context(), "a", 30, httptest.NewRecorder()); err != nil {
			t.Errorf("when the first has been sent: %v", err)
		}
		if held := of.Memory.Held(); held != 0 {
			t.Errorf("%d bytes are still reserved", held)
		}
	})
}

func TestResponseMemory_CallsWaitUntilTheirDeadline(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		of := smallAnswers()
		release, _ := of.Memory.TryAcquire(call.CallerKey(auth.Identity{Username: "a"}), 40)
		impatient, cancel := context.WithTimeout(t.Context(), memoryTimeout/2)
		defer cancel()
		if err := of.call(impatient, "a", 1, httptest.NewRecorder()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller returned %v", err)
		}
		time.AfterFunc(memoryTimeout/2, release)
		if err := of.call(t.Context(), "a", 1, httptest.NewRecorder()); err != nil {
			t.Errorf("a patient caller returned %v", err)
		}
	})
}

// TestResponseMemory_UnreadResponsesAreCutOff has clients that read a piece from time to time.
func TestResponseMemory_UnreadResponsesAreCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		every time.Duration // interval at which a piece is read
		took  time.Duration // 0: the whole response is read
	}{
		"a client that reads slowly":  {20 * time.Second, 0},
		"a client that reads nothing": {time.Hour, 30 * time.Second},
		"a client that is too slow":   {31 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				of, unread := smallAnswers(), newUnreadWriter()
				reading, stop := context.WithCancel(t.Context())
				defer stop()
				go unread.readEvery(reading, test.every)
				began := time.Now()
				err := of.call(t.Context(), "a", 30, unread)
				if took := time.Since(began); (err != nil) != (test.took > 0) || err != nil && took != test.took {
					t.Errorf("after %v: %v", took, err)
				}
				if held := of.Memory.Held(); held != 0 {
					t.Errorf("%d bytes are still reserved", held)
				}
			})
		})
	}
}

// TestResponseMemory_AwaitedUnreadResponsesAreCutOffSooner has a caller wait for the memory of
// another response to the same caller.
func TestResponseMemory_AwaitedUnreadResponsesAreCutOffSooner(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		of, began := smallAnswers(), time.Now()
		var sending sync.WaitGroup
		sending.Go(func() {
			if err := of.call(t.Context(), "a", 30, newUnreadWriter()); err == nil {
				t.Error("a response was sent that was not read")
			}
		})
		synctest.Wait()
		if err := of.call(t.Context(), "a", 30, httptest.NewRecorder()); err != nil {
			t.Errorf("one more returned %v", err)
		}
		if waited := time.Since(began); waited != of.unreadTimeout.IdleContended {
			t.Errorf("it has waited for %v", waited)
		}
		sending.Wait()
	})
}

func TestResponseMemory_ResponsesToWritesAreNotRejected(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		of, began := smallAnswers(), time.Now()
		ctx := servertest.CalledBy(t.Context(), "a")
		release, _ := of.Memory.TryAcquire(call.CallerKey(call.IdentityFrom(ctx)), 40)
		memory := &callMemory{budget: of}
		ctx = context.WithValue(ctx, callMemoryKey{}, memory)
		if err := ReserveWriteResponse(ctx, 30); err != nil || time.Since(began) != changeTimeout {
			t.Errorf("without memory: %v after %v", err, time.Since(began))
		}
		release()
		if err := ReserveWriteResponse(ctx, 30); err != nil || of.Memory.Held() != 30 {
			t.Errorf("with memory: %v, and holds %d", err, of.Memory.Held())
		}
	})
}

func TestResponseMemory_ResponsesMustBeReadInTime(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		of, unread := smallAnswers(), newUnreadWriter()
		of.unreadTimeout.Message = 50 * time.Second
		reading, stop := context.WithCancel(t.Context())
		defer stop()
		go unread.readEvery(reading, 20*time.Second)
		began := time.Now()
		if err := of.call(t.Context(), "a", 30, unread); err == nil || time.Since(began) != of.unreadTimeout.Message {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func (w *unreadWriter) readEvery(ctx context.Context, interval time.Duration) {
	for {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return
		}
		select {
		case w.reads <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// TestResponseMemory_UnreadResponsesEndOverHTTP1AndHTTP2 uses real connections, whose buffers are
// full.
func TestResponseMemory_UnreadResponsesEndOverHTTP1AndHTTP2(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) {
			of, ended := NewResponses(gate.Limits{}, observe.NewMetrics()), make(chan error, 1)
			of.unreadTimeout.Idle = 10 * time.Millisecond
			server := httptest.NewUnstartedServer(of.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 64<<20))
				ended <- err
			})))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if err := <-ended; err == nil {
				t.Error("64 MiB were written that were not read")
			}
		})
	}
}
