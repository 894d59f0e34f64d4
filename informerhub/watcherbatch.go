package informerhub

import (
	"context"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// pendingBatch is a batch that is being built from a read result. Matched changes and states are
// removed from the read result.
type pendingBatch struct {
	result readResult
	batch  Batch
}

// pendingOrPoll returns what is pending for this watcher. The result of an earlier call whose
// context ended comes first, because the cursor is already after it.
func (w *Watcher) pendingOrPoll() readResult {
	if w.pending != nil {
		return w.pending.result
	}
	return w.poll()
}

// batch returns the batch of a read result for the watcher, built once for all watchers that read
// the same. If the context ends meanwhile, the read result stays pending.
func (w *Watcher) batch(ctx context.Context, result readResult) (Batch, error) {
	var batch Batch
	if w.pending != nil || result.batches == nil || result.part != nil || w.deliveredThrough != "" {
		var err error
		if batch, err = w.ownBatch(ctx, result); err != nil {
			return Batch{}, err
		}
	} else {
		batch = result.batches.share(result.batchKey, func() Batch { return w.sharedBatch(ctx, result) })
	}
	w.warner.count(batch)
	return batch, nil
}

// ownBatch returns the batch of a read result that no other watcher shares. Long parts of snapshots
// and of latest states use a processor slot.
func (w *Watcher) ownBatch(ctx context.Context, result readResult) (Batch, error) {
	if w.pending == nil {
		w.pending = &pendingBatch{result: result, batch: batchOf(result)}
	}
	if w.isLong(result) {
		slotCtx, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Batch{}, err
		}
		defer end()
		ctx = slotCtx
	}
	if err := w.match(ctx, &w.pending.result, &w.pending.batch); err != nil {
		if ctx.Err() == nil {
			w.pending = nil
		}
		return Batch{}, err
	}
	batch := w.pending.batch
	w.pending = nil
	return batch, nil
}

// isLong reports whether matching a part of a snapshot or of latest states needs a processor slot.
// A few objects are matched in less time than a slot lasts.
func (w *Watcher) isLong(result readResult) bool {
	switch {
	case result.part == nil && result.catchUp == nil:
		return false
	case w.selection.filter != nil || result.part == nil:
		return true
	}
	return len(result.part.objects) > shortWork
}

// sharedBatch returns the batch of a read result for all watchers that share it. Because others
// wait for it, it does not end with the context of one watcher, and does not wait for a slot. It is
// one batch of changes.
func (w *Watcher) sharedBatch(ctx context.Context, result readResult) Batch {
	batch := batchOf(result)
	_ = w.match(context.WithoutCancel(ctx), &result, &batch) // fails only for snapshots and ended contexts
	return batch
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

// match adds the events of a read result under the watcher's selection to a batch, and removes what
// it has matched from the read result.
func (w *Watcher) match(ctx context.Context, pending *readResult, batch *Batch) error {
	if err := w.matchChanges(ctx, pending, batch); err != nil {
		return err
	}
	if err := w.matchStates(ctx, pending, batch); err != nil {
		return err
	}
	if pending.part != nil {
		if err := pending.part.complete(ctx, batch, w.selection); err != nil {
			return err
		}
	}
	w.keepPosition(batch)
	return nil
}

func (w *Watcher) matchChanges(ctx context.Context, pending *readResult, batch *Batch) error {
	for i := 0; len(pending.changes) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		step := pending.changes[0]
		pending.changes = pending.changes[1:]
		if pending.part != nil && !pending.part.passed.passed(step.object()) {
			continue
		}
		if event, ok := w.selection.transition(step, &batch.unvalued); ok && !w.alreadyDelivered(event) {
			batch.Events = append(batch.Events, w.withoutBefore(event))
		}
	}
	return nil
}

func (w *Watcher) matchStates(ctx context.Context, pending *readResult, batch *Batch) error {
	for i := 0; len(pending.states) > 0; i++ {
		if err := w.yield(ctx, i); err != nil {
			return err
		}
		state := pending.states[0]
		pending.states = pending.states[1:]
		if pending.part != nil && !pending.part.passed.passed(state.object) {
			continue
		}
		heldAt := pending.catchUp.heldAt(state, pending.since)
		if event, ok := w.selection.latestStateEvent(state, heldAt, &batch.unvalued); ok && !w.alreadyDelivered(event) {
			batch.Events = append(batch.Events, event)
		}
	}
	return nil
}

// yield yields the processor before the i-th step of a loop over objects: at every step if there is
// a filter, which may take a millisecond, and otherwise at regular intervals.
func (w *Watcher) yield(ctx context.Context, i int) error {
	if w.selection.filter == nil && i%stepsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}
