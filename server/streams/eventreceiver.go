package streams

import (
	"context"
	"errors"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
)

// Receiver receives the events of a watch inside the service. Its methods are called by one goroutine.
type Receiver interface {
	// Notify receives warnings, and the namespaces that the events cover from then on, if that is said: coversAll for all of
	// the request.
	Notify(ctx context.Context, warnings, namespaces []string, coversAll bool) error
	// Receive receives an event, and the namespaces that the caller can read.
	Receive(ctx context.Context, scope auth.Namespaces, event informerhub.Event) error
}

// Follow follows a watch without sending its events to a client. It blocks until ctx is done or the watch ends.
func (w *Watches) Follow(ctx context.Context, params WatchParams, to Receiver) error {
	return w.run(ctx, &watchPart{watches: w, params: params, sender: &eventReceiver{to: to}})
}

// eventReceiver hands the events of one watch to a Receiver, under the lease of the watch. It is owned by the goroutine that
// follows the watch.
//
// It differs from an eventSender in what has no use inside the service: no encoding, no tokens, no memory of messages, and
// no bookmarks. Leases are the same, because what the Receiver makes of the events is sent to the caller.
type eventReceiver struct {
	to       Receiver // set once
	uncovers bool     // the Receiver does not know yet which namespaces the events cover

	watch  *followedWatch // that is followed; set by attach, like leased
	leased leasedStream
	batch  watchBatch // that next has found; empty while the watch waits
}

// whileWaiting implements watchSender.
func (r *eventReceiver) whileWaiting(ctx context.Context, waiting *waitingWatch, begin func() (*followedWatch, error)) (*followedWatch, error) {
	r.uncovers = true
	return whileWaiting(ctx, func(ctx context.Context) error { return r.notify(ctx, waiting.lease, nil) }, begin)
}

// notify notifies the Receiver of the namespaces that the events cover, if it does not know them, and of warnings.
func (r *eventReceiver) notify(ctx context.Context, lease *access.Lease, warnings []string) error {
	if !r.uncovers {
		if len(warnings) == 0 {
			return nil
		}
		return r.to.Notify(ctx, warnings, nil, false)
	}
	r.uncovers = false
	namespaces, coverage := access.Coverage(lease.Request, lease.Scope)
	return r.to.Notify(ctx, append(coverage, warnings...), namespaces, len(namespaces) == 0)
}

// attach implements watchSender.
func (r *eventReceiver) attach(w *followedWatch) leasedStream {
	r.watch, r.leased = w, leasedStream{w.lease, r}
	return r.leased
}

// next implements source.
func (r *eventReceiver) next(ctx context.Context, changed <-chan struct{}) error {
	return r.watch.source.NextUntil(ctx, changed, &r.batch)
}

// send implements source.
func (r *eventReceiver) send(ctx context.Context) error {
	batch := &r.batch
	defer batch.done()
	r.uncovers = r.uncovers || batch.Events[0].Type == informerhub.Reset
	if err := r.notify(ctx, r.watch.lease, batch.Warnings); err != nil {
		return err
	}
	check := func() error {
		if !access.Covers(r.watch.lease.Scope, r.watch.scope) {
			return errNarrowed
		}
		return nil
	}
	// Each event is checked alone, because receiving an event can take long: Receive waits for the goroutine that reads logs.
	for _, event := range batch.Events {
		err := r.leased.send(ctx, check, func() error { return r.to.Receive(ctx, r.watch.lease.Scope, event) })
		if errors.Is(err, errNarrowed) {
			return r.watch.restart(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rescope implements source. The Receiver is notified of the new namespaces before the next event.
func (r *eventReceiver) rescope(ctx context.Context) error {
	r.uncovers = true
	return r.watch.rescope(ctx)
}

// scope implements source.
func (r *eventReceiver) scope() auth.Namespaces { return r.watch.scope }

// repeat implements source: a Receiver receives nothing while nothing happens.
func (r *eventReceiver) repeat(context.Context, bool) error { return nil }

// markedAt implements source.
func (r *eventReceiver) markedAt() (time.Time, bool) { return time.Time{}, false }
