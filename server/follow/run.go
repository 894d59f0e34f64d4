package follow

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// Interval is the minimum time between two publications. The first change after a quiet time is
// published at once.
const Interval = 100 * time.Millisecond

// run is the goroutine of a follower. It owns all fields.
type run[K comparable, S State] struct {
	*Follower[K, S]
	selection *informerhub.Selection
	create    func(grown func(bytes int) error) S
	watcher   *informerhub.Watcher
	watching  int // bytes that the watcher keeps: see informerhub.Cache.WatcherBytes

	snapshot    map[string]*informerhub.Object // of a snapshot that is being read, by key; nil if there is none
	filled      *S                             // made of a snapshot and not published; nil if there is none
	pending     []informerhub.Event            // steps that were read and not published
	next        Moment                         // after the pending steps
	due         bool                           // next can be published
	urgent      bool                           // a stream waits in Reach
	publishedAt time.Time

	kept    int // bytes of the published state
	before  int // bytes of the state that is being changed, before that
	charged int // bytes by which it has grown when it was charged last
}

// errStopped reports that a follower has ended because no stream had joined it.
var errStopped = errors.New("the follower has ended")

// follow reads and publishes changes until the watcher fails or the context ends.
func (r *run[K, S]) follow(ctx context.Context) {
	defer close(r.ended)
	defer r.watcher.Close()
	if err := r.hold(0); err != nil {
		r.fail(err)
		return
	}
	for {
		if err := r.step(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			r.fail(err)
			return
		}
	}
}

// followerBytes estimates the memory of a follower without its state.
const followerBytes = 32 << 10

// hold charges a caller for what the follower keeps, and for a number of bytes that it is about to keep.
func (r *run[K, S]) hold(bytes int) error {
	bytes += followerBytes + r.watching + r.kept + len(r.snapshot)*snapshotEntryBytes
	err := r.charge.Resize(bytes)
	if errors.Is(err, ledger.ErrFull) {
		err = r.all.resizeElsewhere(r.Follower, bytes)
	}
	if err == nil {
		r.bytes.Store(int64(bytes))
	}
	return err
}

// bytesBetweenCharges is how much a state grows between two checks whether there is still memory.
const bytesBetweenCharges = 1 << 20

// grown charges for a state that has grown to a number of bytes while it is being changed.
func (r *run[K, S]) grown(bytes int) error {
	if bytes -= r.before; bytes < r.charged+bytesBetweenCharges {
		return nil
	}
	r.charged = bytes
	return r.hold(bytes)
}

// fail ends the follower with an error.
func (r *run[K, S]) fail(err error) {
	r.all.forget(r.Follower)
	r.mu.Lock()
	defer r.mu.Unlock()
	var none S
	r.err, r.state = err, none
	close(r.published)
}

// step reads a batch, and publishes what was read if it is time for that.
func (r *run[K, S]) step(ctx context.Context) error {
	batch, err := r.read(ctx)
	switch {
	case errors.Is(err, informerhub.ErrInterrupted):
		r.watcher.Flush()
		r.urgent = true
		return nil
	case err != nil && r.due && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return r.publish(ctx)
	case err != nil:
		return err
	}
	if err := r.add(ctx, batch); err != nil {
		return err
	}
	if r.due && r.isTime() {
		return r.publish(ctx)
	}
	return nil
}

// isTime reports whether pending changes must not wait any longer.
func (r *run[K, S]) isTime() bool {
	return r.urgent && !r.watcher.IsFlushing() || r.filled != nil || time.Since(r.publishedAt) >= Interval
}

// read returns the next batch. If something can be published, it waits until the interval since the
// previous publication has passed.
func (r *run[K, S]) read(ctx context.Context) (informerhub.Batch, error) {
	if r.due {
		waitCtx, cancel := context.WithDeadline(ctx, r.publishedAt.Add(Interval))
		defer cancel()
		ctx = waitCtx
	}
	return r.watcher.NextUntil(ctx, r.flush)
}

// add adds a batch to what is to be published.
func (r *run[K, S]) add(ctx context.Context, batch informerhub.Batch) error {
	r.next.Freshness, r.next.Position = batch.Freshness, batch.Position
	if len(batch.Warnings) > 0 {
		r.next.Warnings = batch.Warnings
	}
	switch {
	case batch.Events[0].Type == informerhub.Reset:
		r.snapshot, r.pending, r.filled, r.due = make(map[string]*informerhub.Object), nil, nil, false
		return r.addToSnapshot(ctx, batch)
	case r.snapshot != nil:
		return r.addToSnapshot(ctx, batch)
	case !isKnown(batch):
		// The pending steps are dropped: next is after this batch already, and the snapshot has them.
		r.pending, r.due = nil, false
		r.watcher.Restart(r.selection)
		return nil
	}
	r.addSteps(batch)
	return nil
}

// isKnown reports whether the state before each change of a batch is known.
func isKnown(batch informerhub.Batch) bool {
	for _, event := range batch.Events {
		if event.Type == informerhub.Modified && event.Before == nil {
			return false
		}
	}
	return batch.HasSteps()
}

func (r *run[K, S]) addSteps(batch informerhub.Batch) {
	for _, event := range batch.Events {
		if event.Object != nil {
			r.pending = append(r.pending, event)
		}
	}
	if batch.Through != "" {
		r.next.Version = batch.Through
	}
	_, r.due = batch.PositionAfter(len(batch.Events) - 1)
}

// addToSnapshot adds a batch of a snapshot. After its last part, a new state is filled with it.
func (r *run[K, S]) addToSnapshot(ctx context.Context, batch informerhub.Batch) error {
	for _, event := range batch.Events {
		switch event.Type {
		case informerhub.Added, informerhub.Modified:
			r.snapshot[event.Object.Key()] = event.Object
		case informerhub.Deleted:
			delete(r.snapshot, event.Object.Key())
		case informerhub.Synced:
			return r.fill(ctx, event.ResourceVersion)
		}
	}
	return r.hold(0)
}

// snapshotEntryBytes estimates the memory of an entry of a snapshot that is being read.
const snapshotEntryBytes = 128

// fill fills a new state with the snapshot, which is that of a version.
func (r *run[K, S]) fill(ctx context.Context, version string) error {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	r.before, r.charged = 0, 0
	state := r.create(r.grown)
	for _, object := range r.snapshot {
		if err := fairqueue.Yield(ctx); err != nil { // at each object: it can be in thousands of groups
			return err
		}
		if err := state.Change(nil, object, 0); err != nil {
			return err
		}
		if err := r.grown(state.Bytes()); err != nil {
			return err
		}
	}
	r.snapshot, r.filled, r.due = nil, &state, true
	r.next.Version = version
	r.next.Epoch++
	return r.hold(state.Bytes())
}

// publish applies the pending changes to the state and shows it to the streams.
func (r *run[K, S]) publish(ctx context.Context) error {
	if err := r.applyInSlot(ctx); err != nil {
		return err
	}
	r.pending, r.filled, r.due, r.publishedAt = nil, nil, false, time.Now()
	r.kept = r.state.Bytes()
	return r.hold(0)
}

// applyInSlot applies the pending changes in a processor slot. It waits for the slot before it takes
// the lock, so that the streams can read the state meanwhile. It does not pass the slot on under the
// lock.
func (r *run[K, S]) applyInSlot(ctx context.Context) error {
	if len(r.pending) == 0 {
		return r.apply()
	}
	_, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return r.apply()
}

func (r *run[K, S]) apply() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.filled != nil {
		r.state = *r.filled
	}
	if r.filled != nil || len(r.pending) > 0 {
		r.next.Generation++
	}
	if err := r.applyPending(); err != nil {
		r.err = err // so that no stream reads the state, which has a part of the changes
		return err
	}
	r.at = r.next
	if r.urgent && !r.watcher.IsFlushing() {
		r.urgent = false
		r.flushed.Add(1)
	}
	close(r.published)
	r.published = make(chan struct{})
	return nil
}

func (r *run[K, S]) applyPending() error {
	r.before, r.charged = r.kept, 0
	for _, event := range r.pending {
		before, after := states(event)
		if err := r.state.Change(before, after, r.next.Generation); err != nil {
			return err
		}
		if err := r.grown(r.state.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// states returns the states of an object before and after an event.
func states(event informerhub.Event) (before, after *informerhub.Object) {
	switch event.Type {
	case informerhub.Added:
		return nil, event.Object
	case informerhub.Deleted:
		return event.Object, nil
	}
	return event.Before, event.Object
}
