package server

import (
	"context"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// objectsBetweenYields is the number of objects that a loop reads, compares or encodes between
// checks whether the client has disconnected and whether another caller waits for a processor slot.
const objectsBetweenYields = 32

// inTurn calls compute in a processor slot of the caller. compute must not wait for anything else.
// Its context is for [fairqueue.Yield].
func inTurn[T any](ctx context.Context, compute func(context.Context) (T, error)) (result T, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	defer end()
	return compute(ctx)
}

// shortBytes is the size up to which objects are encoded without a processor slot.
const shortBytes = 64 << 10

// inTurnIf calls compute like inTurn if the work is long. Short work does not wait for a slot,
// because it takes less time than a slot lasts.
func inTurnIf[T any](ctx context.Context, long bool, compute func(context.Context) (T, error)) (T, error) {
	if !long {
		return compute(ctx)
	}
	return inTurn(ctx, compute)
}

// answerInTurn calls compute like inTurnIf. compute must return the response of a unary call, as
// the last step of the call. The slot lasts until the response is written to the connection:
// connect encodes and compresses it after the handler has returned, which takes as long as the
// rest.
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

// yieldEvery calls [fairqueue.Yield] at every objectsBetweenYields-th step of a loop.
func yieldEvery(ctx context.Context, step int) error {
	if step%objectsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}
