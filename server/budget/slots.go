package budget

import (
	"context"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// ObjectsBetweenYields is the number of objects that a loop reads, compares or encodes between
// checks whether the client has disconnected and whether another caller waits for a processor slot.
const ObjectsBetweenYields = 32

// InSlot calls compute in a processor slot of the caller. compute must not wait for anything else,
// such as memory or the network. Its context is for [fairqueue.Yield]. In a context that has a slot already, compute runs in that slot.
func InSlot[T any](ctx context.Context, compute func(context.Context) (T, error)) (result T, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	defer end()
	return compute(ctx)
}

// ShortBytes is the size up to which objects are read and encoded without a processor slot.
const ShortBytes = 64 << 10

// IsLong reports whether reading the contents of objects takes long, for which they need not be many.
func IsLong(objects []*informerhub.Object) bool {
	size := 0
	for _, object := range objects {
		if size += object.RetainedSize(); size > ShortBytes {
			return true
		}
	}
	return false
}

// InSlotIf calls compute like InSlot if the work is long. Short work does not wait for a slot,
// because it takes less time than a slot lasts.
func InSlotIf[T any](ctx context.Context, isLong bool, compute func(context.Context) (T, error)) (T, error) {
	if !isLong {
		return compute(ctx)
	}
	return InSlot(ctx, compute)
}

// RespondInSlot calls compute like InSlotIf. compute must return the response of a unary call, as
// the last step of the call. The slot lasts until the response is written to the connection:
// connect encodes and compresses it after the handler has returned, which takes as long as the
// rest.
func RespondInSlot[T any](ctx context.Context, isLong bool, compute func(context.Context) (T, error)) (result T, err error) {
	call := callMemoryOf(ctx)
	if !isLong || call == nil {
		return InSlotIf(ctx, isLong, compute)
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return result, err
	}
	call.endSlot = end // called at the first write, or when the call ends: see callMemory.Release
	return compute(ctx)
}

// YieldEvery calls [fairqueue.Yield] at every ObjectsBetweenYields-th step of a loop.
func YieldEvery(ctx context.Context, step int) error {
	if step%ObjectsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}

// EncodeInSlot encodes an object like encode.Object. It takes a processor slot if the object is
// large.
func EncodeInSlot(ctx context.Context, object *informerhub.Object, encoding kubeconnectv1.Encoding) (*kubeconnectv1.Object, error) {
	return InSlotIf(ctx, object.RetainedSize() > ShortBytes, func(context.Context) (*kubeconnectv1.Object, error) {
		return encode.Object(object, encoding), nil
	})
}
