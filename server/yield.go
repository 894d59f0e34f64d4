package server

import (
	"context"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// objectsBetweenYields is the number of objects that a loop reads, compares or encodes between
// checks whether the client has disconnected and whether another caller waits for a processor slot.
const objectsBetweenYields = 32

// inSlot calls compute in a processor slot of the caller. compute must not wait for anything else.
// Its context is for [fairqueue.Yield].
func inSlot[T any](ctx context.Context, compute func(context.Context) (T, error)) (result T, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	defer end()
	return compute(ctx)
}

// shortBytes is the size up to which objects are read and encoded without a processor slot.
const shortBytes = 64 << 10

// isLong reports whether reading the contents of objects takes long, for which they need not be many.
func isLong(objects []*informerhub.Object) bool {
	size := 0
	for _, object := range objects {
		if size += object.RetainedSize(); size > shortBytes {
			return true
		}
	}
	return false
}

// inSlotIf calls compute like inSlot if the work is long. Short work does not wait for a slot,
// because it takes less time than a slot lasts.
func inSlotIf[T any](ctx context.Context, isLong bool, compute func(context.Context) (T, error)) (T, error) {
	if !isLong {
		return compute(ctx)
	}
	return inSlot(ctx, compute)
}

// respondInSlot calls compute like inSlotIf. compute must return the response of a unary call, as
// the last step of the call. The slot lasts until the response is written to the connection:
// connect encodes and compresses it after the handler has returned, which takes as long as the
// rest.
func respondInSlot[T any](ctx context.Context, isLong bool, compute func(context.Context) (T, error)) (result T, err error) {
	call := callMemoryOf(ctx)
	if !isLong || call == nil {
		return inSlotIf(ctx, isLong, compute)
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	call.endSlot = end
	return compute(ctx)
}

// yieldEvery calls [fairqueue.Yield] at every objectsBetweenYields-th step of a loop.
func yieldEvery(ctx context.Context, step int) error {
	if step%objectsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}

// encodeInSlot encodes an object like encode.Object. It takes a processor slot if the object is
// large.
func encodeInSlot(ctx context.Context, object *informerhub.Object, encoding kubeconnectv1.Encoding) (*kubeconnectv1.Object, error) {
	return inSlotIf(ctx, object.RetainedSize() > shortBytes, func(context.Context) (*kubeconnectv1.Object, error) {
		return encode.Object(object, encoding), nil
	})
}
