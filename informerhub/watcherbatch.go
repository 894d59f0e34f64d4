package informerhub

import (
	"context"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// pendingBatch is a batch that is being made from what a watcher has read. The cursor is already
// after it.
type pendingBatch struct {
	result readResult
	making *sharedBatch
}

// pendingOrPoll returns what is pending for this watcher. The result of an earlier call whose
// context ended comes first, because the cursor is already after it.
func (w *Watcher) pendingOrPoll() readResult {
	if w.pending != nil {
		return w.pending.result
	}
	return w.poll()
}

// batch returns the batch of a read result for the watcher, made once for all watchers that read
// the same. If the context ends meanwhile, the read result stays pending.
func (w *Watcher) batch(ctx context.Context, result readResult) (Batch, error) {
	if w.pending == nil {
		w.pending = &pendingBatch{result: result, making: w.making(result)}
	}
	batch, err := w.finish(ctx, w.pending.making)
	if err == nil || ctx.Err() == nil {
		w.pending = nil
	}
	if err != nil {
		return Batch{}, err
	}
	w.warner.count(batch)
	return batch, nil
}

// making returns the batch that watchers with the same read result make together, or one of this
// watcher alone.
func (w *Watcher) making(result readResult) *sharedBatch {
	if result.batches == nil || result.part != nil || w.deliveredThrough != "" {
		return &sharedBatch{rest: result, batch: batchOf(result)}
	}
	return result.batches.share(result.batchKey, func() *sharedBatch {
		making := &sharedBatch{rest: result, batch: batchOf(result)}
		making.batch.shared = making
		return making
	})
}

// finish matches what is left of a batch, and returns the batch. Each watcher that waits for a shared
// batch works on it in turn, in a processor slot of its own caller and until its own context ends. So
// a batch is never later than the slot of the first caller that gets one, whichever of them began it.
func (w *Watcher) finish(ctx context.Context, making *sharedBatch) (Batch, error) {
	if batch, ok := making.get(); ok {
		return batch, nil
	}
	if w.isLong(&w.pending.result) {
		slotCtx, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Batch{}, err
		}
		defer end()
		ctx = slotCtx
	}
	making.mu.Lock()
	defer making.mu.Unlock()
	if err := w.match(ctx, making); err != nil {
		return Batch{}, err
	}
	making.rest, making.made = readResult{}, true
	return making.batch, nil
}

// isLong reports whether matching a read result needs a processor slot. A few small objects are matched
// by labels and fields in less time than a slot lasts.
func (w *Watcher) isLong(result *readResult) bool {
	sel := w.selection
	switch {
	case sel.filter != nil || result.catchUp != nil:
		return true
	case result.part != nil:
		return len(result.part.objects) > shortWork || sel.isLong(slices.Values(result.part.objects))
	}
	return sel.isLong(func(yield func(*Object) bool) {
		for _, step := range result.changes {
			if !yield(step.object()) {
				return
			}
		}
	})
}

func batchOf(result readResult) Batch {
	return Batch{
		Since:    timeOf(result.oldest),
		Position: result.position, Through: result.through, Freshness: result.freshness,
		unresumable: result.unresumable, compacted: result.catchUp != nil,
	}
}

// timeOf returns a time in Unix nanoseconds; the zero time for 0.
func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// match adds the events of the rest of a read result under the watcher's selection to its batch. The
// batch's lock is held, and released between two steps.
func (w *Watcher) match(ctx context.Context, making *sharedBatch) error {
	if err := w.matchChanges(ctx, making); err != nil {
		return err
	}
	if err := w.matchStates(ctx, making); err != nil {
		return err
	}
	if part := making.rest.part; part != nil {
		if err := part.complete(ctx, &making.batch, w.selection); err != nil {
			return err
		}
	}
	w.keepPosition(&making.batch)
	return nil
}

func (w *Watcher) matchChanges(ctx context.Context, making *sharedBatch) error {
	for i, rest := 0, &making.rest; len(rest.changes) > 0; i++ {
		if err := w.yield(ctx, i, making); err != nil {
			return err
		}
		if len(rest.changes) == 0 {
			return nil // another watcher has matched the rest
		}
		step := rest.changes[0]
		rest.changes = rest.changes[1:]
		if rest.part != nil && !rest.part.passed.passed(step.object()) {
			continue
		}
		if event, ok := w.selection.transition(step, &making.batch.unvalued); ok && !w.alreadyDelivered(event) {
			making.batch.Events = append(making.batch.Events, w.withoutBefore(event))
		}
	}
	return nil
}

func (w *Watcher) matchStates(ctx context.Context, making *sharedBatch) error {
	for i, rest := 0, &making.rest; len(rest.states) > 0; i++ {
		if err := w.yield(ctx, i, making); err != nil {
			return err
		}
		if len(rest.states) == 0 {
			return nil
		}
		state := rest.states[0]
		rest.states = rest.states[1:]
		if rest.part != nil && !rest.part.passed.passed(state.object) {
			continue
		}
		heldAt := rest.catchUp.heldAt(state, rest.since)
		if event, ok := w.selection.latestStateEvent(state, heldAt, &making.batch.unvalued); ok && !w.alreadyDelivered(event) {
			making.batch.Events = append(making.batch.Events, event)
		}
	}
	return nil
}

// yield yields the processor before the i-th step of a loop over objects, without the batch's lock: at
// every step if there is a filter, which may take a millisecond, and otherwise at regular intervals.
func (w *Watcher) yield(ctx context.Context, i int, making *sharedBatch) error {
	if w.selection.filter == nil && i%stepsBetweenYields != 0 {
		return nil
	}
	making.mu.Unlock()
	defer making.mu.Lock()
	return fairqueue.Yield(ctx)
}
