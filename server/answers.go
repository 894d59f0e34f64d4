package server

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge"
)

// responseShare is the answer memory: what unary responses may use while they are built and sent.
var responseShare = edge.Share{Part: 4, Least: 32 << 20, Most: 512 << 20, Unlimited: 128 << 20}

const (
	// responsePart limits one caller to a fifth of it.
	responsePart = 5
	// maxResponsesWaiting bounds the calls of one caller that wait for memory.
	maxResponsesWaiting = 64
	// memoryPatience is the time after which a call that waits for memory is rejected.
	memoryPatience = 5 * time.Second
	// writePatience is the time that the response to a change waits for memory.
	writePatience = 30 * time.Second
)

// responseMemory bounds the memory of unary responses, in all and for each caller.
//
// A call reserves memory before it builds its response, and releases it after the response has been
// written to the connection. Connect encodes, compresses and writes a response after the handler of
// the RPC has returned, so the HTTP handler around it releases the memory. A client that does not
// read its response cannot keep the memory for long: see responseWriter.
type responseMemory struct {
	memory *fairqueue.Queue // in bytes
	live   *fairqueue.Queue // in bytes; see liveBody
	// maxLive is the part of live that one caller can use.
	maxLive  int64
	patience edge.Patience
}

func newResponseMemory(limits edge.Limits, metrics *edge.Metrics) *responseMemory {
	memory, live := responseShare.Bytes(), liveShare.Bytes()
	maxLive := limits.Part(live, livePart)
	return &responseMemory{
		memory: metrics.Queue("response_bytes", fairqueue.New(fairqueue.Limits{
			Name: "response memory", Total: memory, PerKey: limits.Part(memory, responsePart), Waiting: maxResponsesWaiting,
		})),
		live:     metrics.Queue("upstream_response_bytes", fairqueue.New(fairqueue.Limits{Total: live, PerKey: maxLive})),
		maxLive:  maxLive,
		patience: edge.Patience{Still: 30 * time.Second, Message: edge.ResponsePatience, Awaited: 3 * time.Second},
	}
}

// serve returns a handler of unary calls. Each call releases its memory when it ends.
func (m *responseMemory) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := &callMemory{budget: m}
		defer call.release()
		writer := newResponseWriter(w, m.patience, call)
		next.ServeHTTP(writer, r.WithContext(context.WithValue(r.Context(), callMemoryKey{}, call)))
	})
}

// handle wraps a handler like serve, and returns it with the path that it is mounted at.
func (m *responseMemory) handle(path string, next http.Handler) (string, http.Handler) {
	return path, m.serve(next)
}

type callMemoryKey struct{}

// callMemory is the memory of one call. It is owned by the goroutine of the call's handler.
type callMemory struct {
	budget    *responseMemory
	caller    string // see edge.CallerKey; empty while no memory is reserved
	held      []func()
	liveBytes int64  // bytes of the API server's responses
	liveErr   error  // why no more of them are read
	endSlot   func() // ends the processor slot in which the response is built; nil if there is none; see respondInSlot
}

// callMemoryOf returns the memory of a call, or nil for a stream, which has none.
func callMemoryOf(ctx context.Context) *callMemory {
	call, _ := ctx.Value(callMemoryKey{}).(*callMemory)
	return call
}

// delaysOthers reports whether another call waits for the memory that this call's caller uses.
func (m *callMemory) delaysOthers() bool { return m.caller != "" && m.budget.memory.Delays(m.caller) }

// endSlotIfAny ends the processor slot in which the response has been built, if there is one.
func (m *callMemory) endSlotIfAny() {
	if m.endSlot != nil {
		m.endSlot()
	}
}

func (m *callMemory) release() {
	m.endSlotIfAny()
	for _, release := range m.held {
		release()
	}
	m.held = nil
}

// reserveResponse blocks until bytes of memory are reserved for the response, which the call
// releases after the response has been sent. It returns a *edge.LimitError after memoryPatience. A call
// reserves once, because calls with reserved memory must not wait for more; see reserveMore.
func reserveResponse(ctx context.Context, bytes int) error {
	call := callMemoryOf(ctx)
	if call == nil {
		return nil
	}
	if call.acquire(ctx, bytes, memoryPatience) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errResponseMemory()
}

// acquire waits for memory, and reports whether it was reserved.
func (m *callMemory) acquire(ctx context.Context, bytes int, patience time.Duration) bool {
	m.caller = edge.CallerKey(edge.IdentityFrom(ctx))
	release, err := m.budget.memory.AcquireWithin(ctx, m.caller, int64(bytes), patience)
	if err == nil {
		m.held = append(m.held, release)
	}
	return err == nil
}

// reserveMore reserves memory for a response that is larger than expected. It does not wait.
func reserveMore(ctx context.Context, bytes int) error {
	call := callMemoryOf(ctx)
	if call == nil {
		return nil
	}
	release, ok := call.budget.memory.TryAcquire(edge.CallerKey(edge.IdentityFrom(ctx)), int64(bytes))
	if !ok {
		return errResponseMemory()
	}
	call.held = append(call.held, release)
	return nil
}

// reserveWriteResponse reserves memory for the response to a change, like reserveResponse. It never
// rejects the call, because the change has been made: if there is no memory within writePatience,
// the response is sent without a reservation.
func reserveWriteResponse(ctx context.Context, bytes int) error {
	call := callMemoryOf(ctx)
	if call == nil {
		return nil
	}
	call.acquire(ctx, bytes, writePatience)
	return context.Cause(ctx)
}

func errResponseMemory() error {
	return busy(edge.LimitResponseMemory, "too many responses are being sent, to you or in all, for the memory of the service")
}

// busy returns the error for a call that has waited too long. Calls that were rejected together get
// different retry times.
func busy(limit edge.Limit, over string) error {
	return &edge.LimitError{Limit: limit, Over: over, Wait: time.Second + rand.N(4*time.Second)}
}
