package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// answersShare is the answer memory: what unary responses may use while they are built and sent.
var answersShare = share{part: 4, least: 32 << 20, most: 512 << 20, unlimited: 128 << 20}

const (
	// answersPart limits one caller to a fifth of it.
	answersPart = 5
	// maxAnswersWaiting bounds the calls of one caller that wait for memory.
	maxAnswersWaiting = 64
	// memoryPatience is the time after which a call that waits for memory is rejected.
	memoryPatience = 5 * time.Second
	// writtenPatience is the time that the response to a change waits for memory.
	writtenPatience = 30 * time.Second
)

// answers bounds the memory of unary responses, in all and for each caller.
//
// A call reserves memory before it builds its response, and releases it after the response has been
// written to the connection. Connect encodes, compresses and writes a response after the handler of
// the RPC has returned, so the HTTP handler around it releases the memory. A client that does not
// read its response cannot keep the memory for long: see answerWriter.
type answers struct {
	memory *fairqueue.Queue // in bytes
	live   *fairqueue.Queue // in bytes; see liveBody
	// maxLive is the part of live that one caller can use.
	maxLive  int64
	patience readPatience
}

func newAnswers(limits Limits) *answers {
	memory, live := answersShare.bytes(), liveShare.bytes()
	maxLive := limits.of(live, livePart)
	return &answers{
		memory:   fairqueue.New(fairqueue.Limits{Total: memory, PerKey: limits.of(memory, answersPart), Waiting: maxAnswersWaiting}),
		live:     fairqueue.New(fairqueue.Limits{Total: live, PerKey: maxLive}),
		maxLive:  maxLive,
		patience: readPatience{still: 30 * time.Second, message: answerPatience, awaited: 3 * time.Second},
	}
}

// serve returns a handler of unary calls. Each call releases its memory when it ends.
func (a *answers) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := &answer{budget: a}
		defer call.release()
		writer := newAnswerWriter(r.Context(), w, a.patience, call)
		next.ServeHTTP(writer, r.WithContext(context.WithValue(r.Context(), answerKey{}, call)))
	})
}

// at wraps a handler like serve, and returns it with the path that it is mounted at.
func (a *answers) at(path string, next http.Handler) (string, http.Handler) {
	return path, a.serve(next)
}

type answerKey struct{}

// answer is the memory of one call. It is owned by the goroutine of the call's handler.
type answer struct {
	budget  *answers
	caller  string // see callerOf; empty while no memory is reserved
	held    []func()
	live    int64  // bytes of the API server's responses
	refused error  // why no more of them are read
	endTurn func() // ends the processor slot in which the response is built; nil if there is none; see answerInTurn
}

// answerOf returns the answer of a call, or nil for a stream, which has none.
func answerOf(ctx context.Context) *answer {
	call, _ := ctx.Value(answerKey{}).(*answer)
	return call
}

// isAwaited reports whether another call waits for the memory that this call's caller uses.
func (a *answer) isAwaited() bool { return a.caller != "" && a.budget.memory.Delays(a.caller) }

// made ends the processor slot in which the response has been built, if there is one.
func (a *answer) made() {
	if a.endTurn != nil {
		a.endTurn()
	}
}

func (a *answer) release() {
	a.made()
	for _, release := range a.held {
		release()
	}
	a.held = nil
}

// holdAnswer blocks until bytes of memory are reserved for the response, which the call releases
// after the response has been sent. It returns a *limitError after memoryPatience. A call reserves
// once, because calls with reserved memory must not wait for more; see holdMore.
func holdAnswer(ctx context.Context, bytes int) error {
	call := answerOf(ctx)
	if call == nil {
		return nil
	}
	if call.await(ctx, bytes, memoryPatience) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errAnswerMemory()
}

// await waits for memory, and reports whether it was reserved.
func (a *answer) await(ctx context.Context, bytes int, patience time.Duration) bool {
	a.caller = callerOf(identityFrom(ctx))
	release, err := a.budget.memory.AcquireWithin(ctx, a.caller, int64(bytes), patience)
	if err == nil {
		a.held = append(a.held, release)
	}
	return err == nil
}

// holdMore reserves memory for a response that is larger than expected. It does not wait.
func holdMore(ctx context.Context, bytes int) error {
	call := answerOf(ctx)
	if call == nil {
		return nil
	}
	release, ok := call.budget.memory.TryAcquire(callerOf(identityFrom(ctx)), int64(bytes))
	if !ok {
		return errAnswerMemory()
	}
	call.held = append(call.held, release)
	return nil
}

// holdWritten reserves memory for the response to a change, like holdAnswer. It never rejects the
// call, because the change has been made: if there is no memory within writtenPatience, the
// response is sent without a reservation.
func holdWritten(ctx context.Context, bytes int) error {
	call := answerOf(ctx)
	if call == nil {
		return nil
	}
	call.await(ctx, bytes, writtenPatience)
	return context.Cause(ctx)
}

func errAnswerMemory() error {
	return busy("too many responses are being sent, to you or in all, for the memory of the service")
}

// busy returns the error for a call that has waited too long. Calls that were rejected together get
// different retry times.
func busy(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...), time.Second + rand.N(4*time.Second)}
}
