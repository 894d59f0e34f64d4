package budget

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// responseShare is the answer memory: what unary responses may use while they are built and sent.
var responseShare = memorylimit.Share{Divisor: 4, Min: 32 << 20, Max: 512 << 20, Unlimited: 128 << 20}

const (
	// responseDivisor limits one caller to a fifth of the memory for responses.
	responseDivisor = 5
	// maxResponsesWaiting bounds the calls of one caller that wait for memory.
	maxResponsesWaiting = 64
	// memoryTimeout is the time after which a call that waits for memory is rejected.
	memoryTimeout = 5 * time.Second
	// changeTimeout is the time that the response to a change waits for memory.
	changeTimeout = 30 * time.Second
)

// Responses bounds the memory of unary responses, in all and for each caller.
//
// A call reserves memory before it builds its response, and releases it after the response has been
// written to the connection. Connect encodes, compresses and writes a response after the handler of
// the RPC has returned, so the HTTP handler around it releases the memory. A client that does not
// read its response cannot keep the memory for long: see responseWriter.
//
// A call waits for memory once, in ReserveResponse, when it holds none. What it needs in addition is reserved without
// waiting, or the call fails. Otherwise two calls could each hold what the other call waits for.
type Responses struct {
	Memory   *fairqueue.Queue // in bytes
	Upstream *fairqueue.Queue // of responses of the API server, in bytes; see upstreamBody
	// MaxUpstream is the part of upstream that one caller can use.
	MaxUpstream   int64
	unreadTimeout streamlife.UnreadTimeout
}

// NewResponses returns the memory for responses, with the part that one caller can use under some limits.
func NewResponses(limits gate.Limits, metrics *observe.Metrics) *Responses {
	memory, live := responseShare.Bytes(), upstreamShare.Bytes()
	maxLive := limits.Part(live, upstreamDivisor)
	return &Responses{
		Memory: metrics.Queue("response_bytes", fairqueue.New(fairqueue.Limits{
			Name: "response memory", Total: memory, PerKey: limits.Part(memory, responseDivisor), Waiting: maxResponsesWaiting,
		})),
		Upstream:      metrics.Queue("upstream_response_bytes", fairqueue.New(fairqueue.Limits{Total: live, PerKey: maxLive})),
		MaxUpstream:   maxLive,
		unreadTimeout: streamlife.UnreadTimeout{Idle: 30 * time.Second, Message: call.ResponseTimeout, IdleContended: 3 * time.Second},
	}
}

// Serve returns a handler of unary calls. Each call releases its memory when it ends: next returns after its response
// has been written.
func (m *Responses) Serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, call := m.Begin(r.Context())
		defer call.Release()
		next.ServeHTTP(newResponseWriter(ctx, w, m.unreadTimeout, call), r.WithContext(ctx))
	})
}

// Begin returns the context of a call, and the memory that it holds, which the caller must release. The functions of this
// package find the memory in the context. In a context without it, as in a stream, they reserve nothing.
func (m *Responses) Begin(ctx context.Context) (context.Context, *callMemory) {
	call := &callMemory{budget: m}
	return context.WithValue(ctx, callMemoryKey{}, call), call
}

type callMemoryKey struct{}

// callMemory is the memory of one call. It is owned by the goroutine of the call's handler.
//
// The goroutine of the timer of streamlife.Unread calls delaysOthers while the handler is blocked in a write. It reads only
// fields that do not change any more then.
type callMemory struct {
	budget       *Responses // set once
	caller       string     // see call.CallerKey; empty while no memory is reserved
	held         []func()   // release what was reserved, in any order
	upstreamRead int64      // bytes that were read of the API server's responses
	upstreamHeld int64      // bytes that are reserved for them, in steps
	upstreamErr  error      // why no more of them are read
	endSlot      func()     // ends the processor slot in which the response is built; nil if there is none; see RespondInSlot
}

// callMemoryOf returns the memory of a call, or nil for a stream, which has none.
func callMemoryOf(ctx context.Context) *callMemory {
	call, _ := ctx.Value(callMemoryKey{}).(*callMemory)
	return call
}

// delaysOthers reports whether another call waits for the memory that this call's caller uses.
func (m *callMemory) delaysOthers() bool { return m.caller != "" && m.budget.Memory.Delays(m.caller) }

// endSlotIfAny ends the processor slot in which the response has been built, if there is one. Further calls do nothing.
func (m *callMemory) endSlotIfAny() {
	if m.endSlot != nil {
		m.endSlot()
	}
}

// Release releases everything that the call has reserved, also if it has failed before its response was written.
func (m *callMemory) Release() {
	m.endSlotIfAny() // a response that was not written has not ended it
	for _, release := range m.held {
		release()
	}
	m.held = nil
}

// ReserveResponse blocks until bytes of memory are reserved for the response, which the call
// releases after the response has been sent. It returns a *callerrors.LimitError after memoryTimeout. A call
// reserves once, because calls with reserved memory must not wait for more; see ReserveMore.
func ReserveResponse(ctx context.Context, bytes int) error {
	call := callMemoryOf(ctx)
	if call == nil {
		return nil
	}
	if call.acquire(ctx, bytes, memoryTimeout) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the client no longer waits, so that the call was not rejected by the service
	}
	return errResponseMemory()
}

// acquire waits for memory, and reports whether it was reserved.
func (m *callMemory) acquire(ctx context.Context, bytes int, timeout time.Duration) bool {
	m.caller = call.CallerKey(call.IdentityFrom(ctx))
	release, err := m.budget.Memory.AcquireWithin(ctx, m.caller, int64(bytes), timeout)
	if err == nil {
		m.held = append(m.held, release)
	}
	return err == nil
}

// ReserveMore reserves memory for a response that is larger than expected. It does not wait, because the call holds memory
// that other calls may wait for.
func ReserveMore(ctx context.Context, bytes int) error {
	memory := callMemoryOf(ctx)
	if memory == nil {
		return nil
	}
	release, ok := memory.budget.Memory.TryAcquire(call.CallerKey(call.IdentityFrom(ctx)), int64(bytes))
	if !ok {
		return errResponseMemory()
	}
	memory.held = append(memory.held, release)
	return nil
}

// ReserveWriteResponse reserves memory for the response to a change, like ReserveResponse. It never
// rejects the call, because the change has been made: if there is no memory within changeTimeout,
// the response is sent without a reservation.
func ReserveWriteResponse(ctx context.Context, bytes int) error {
	call := callMemoryOf(ctx)
	if call == nil {
		return nil
	}
	call.acquire(ctx, bytes, changeTimeout)
	return context.Cause(ctx)
}

func errResponseMemory() error {
	return Busy(callerrors.LimitResponseMemory, "too many responses are being sent, to you or in all, for the memory of the service")
}

// Busy returns the error for a call that has waited too long. Calls that were rejected together get
// different retry times.
func Busy(limit callerrors.Limit, over string) error {
	return &callerrors.LimitError{Limit: limit, Over: over, Wait: time.Second + rand.N(4*time.Second)}
}
