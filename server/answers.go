package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// answersShare is the memory that unary answers may take while they are built and sent.
var answersShare = share{part: 4, least: 32 << 20, most: 512 << 20, unlimited: 128 << 20}

const (
	// answersPart says how much of it one caller may hold: a fifth.
	answersPart = 5
	// maxAnswersWaiting bounds the calls of one caller that wait for memory.
	maxAnswersWaiting = 64
	// memoryPatience is how long a call waits for memory before it is refused.
	memoryPatience = 5 * time.Second
	// writtenPatience is how long the answer to a change waits for memory.
	writtenPatience = 30 * time.Second
)

// answers bounds the memory that unary answers take, in all and for each caller.
//
// A call holds memory from before its answer is built until it has been written to the
// connection. Connect encodes, compresses and writes an answer after the handler of the RPC
// has returned; so what the call holds is released by the HTTP handler around it. A client
// that does not read its answer cannot hold memory for long: see answerWriter.
type answers struct {
	memory *fairqueue.Queue // in bytes
	live   *fairqueue.Queue // in bytes: see liveBody
	// maxLive is how much of live one caller may hold.
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

// serve returns a handler of unary calls, each of which may hold memory until it has ended.
func (a *answers) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := &answer{budget: a}
		defer call.release()
		writer := newAnswerWriter(r.Context(), w, a.patience, call)
		next.ServeHTTP(writer, r.WithContext(context.WithValue(r.Context(), answerKey{}, call)))
	})
}

// at is serve for a handler and the path that it is mounted at.
func (a *answers) at(path string, next http.Handler) (string, http.Handler) {
	return path, a.serve(next)
}

type answerKey struct{}

// answer is what one call holds. It is owned by the goroutine of its handler.
type answer struct {
	budget  *answers
	caller  string // see callerOf; empty while no memory is held
	held    []func()
	live    int64  // bytes that the API server has answered
	refused error  // why no more of them are read
	endTurn func() // ends the turn in which the answer is made; see answerInTurn; nil if there is none
}

// answerOf returns the answer of a call; nil for a stream, which has none.
func answerOf(ctx context.Context) *answer {
	call, _ := ctx.Value(answerKey{}).(*answer)
	return call
}

// isAwaited reports whether another call waits for the memory that the caller holds.
func (a *answer) isAwaited() bool { return a.caller != "" && a.budget.memory.Delays(a.caller) }

// made ends the turn in which the answer has been made, if there is one.
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

// holdAnswer blocks until the call may take some more bytes for its answer, which it holds until
// the answer has been sent. A call that would have to wait for longer than memoryPatience is
// refused with a *limitError. A call holds once, because calls that hold memory must not wait
// for more of it; see holdMore.
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

// await reports whether the call holds more memory, for which it has waited.
func (a *answer) await(ctx context.Context, bytes int, patience time.Duration) bool {
	a.caller = callerOf(identityFrom(ctx))
	release, err := a.budget.memory.AcquireWithin(ctx, a.caller, int64(bytes), patience)
	if err == nil {
		a.held = append(a.held, release)
	}
	return err == nil
}

// holdMore is holdAnswer for a call whose answer takes more than was expected. It does not wait.
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

// holdWritten is holdAnswer for the answer to a change, which is never refused: the change has been
// made. If there is no memory in writtenPatience, the answer is sent without holding any.
func holdWritten(ctx context.Context, bytes int) error {
	call := answerOf(ctx)
	if call == nil {
		return nil
	}
	call.await(ctx, bytes, writtenPatience)
	return context.Cause(ctx)
}

func errAnswerMemory() error {
	return busy("the answers to your calls take as much memory as one caller may have, or those to all callers as much as there is")
}

// busy returns the error for a call that has waited in vain. Calls that were refused together
// are told to come back at different times.
func busy(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...), time.Second + rand.N(4*time.Second)}
}
