package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// objectsBetweenYields is how many objects a loop reads, compares or encodes before it looks whether
// the caller is still there and whether another caller waits for the processor.
const objectsBetweenYields = 32

// inTurn calls compute in one of the caller's turns of the processors. compute must not wait
// for anything else; the context that it gets is for [fairqueue.Yield].
func inTurn[T any](ctx context.Context, compute func(context.Context) (T, error)) (result T, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	defer end()
	return compute(ctx)
}

// shortBytes is the size of objects that are encoded without waiting for a turn.
const shortBytes = 64 << 10

// inTurnIf is inTurn if the work is long. Short work does not wait for longer work of others: it
// takes less time than a turn.
func inTurnIf[T any](ctx context.Context, long bool, compute func(context.Context) (T, error)) (T, error) {
	if !long {
		return compute(ctx)
	}
	return inTurn(ctx, compute)
}

// answerInTurn is inTurnIf for what computes the answer of a unary call, last of all that the call
// does. The turn lasts until the answer is written to the connection: connect encodes and compresses it after
// the handler has returned, which takes as long as the rest.
func answerInTurn[T any](ctx context.Context, long bool, compute func(context.Context) (T, error)) (result T, err error) {
	call := answerOf(ctx)
	if !long || call == nil {
		return inTurnIf(ctx, long, compute)
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	call.endTurn = end
	return compute(ctx)
}

// yieldEvery calls [fairqueue.Yield] at each of some steps of a loop.
func yieldEvery(ctx context.Context, step int) error {
	if step%objectsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}
