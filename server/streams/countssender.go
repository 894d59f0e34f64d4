package streams

import (
	"context"
	"errors"
	"slices"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/follow"
)

// countsSender sends the responses of live counts. It is owned by the goroutine that follows them.
type countsSender struct {
	// Set once.
	outlet   outlet[*kubeconnectv1.WatchCountsResponse]
	part     *streamlife.StreamPart
	memory   budget.Messages
	plan     *counts.Plan
	interval time.Duration
	asJSON   bool // the caller's codec writes JSON

	total     counts.Group // the total that was sent last
	warnings  []string     // those of the moment that was sent last
	sentAt    time.Time    // when the last response began to be sent
	changedAt time.Time    // when the last response with changes had been sent
}

// errRescoped ends the use of counts whose scope is no longer that of the lease. It is never returned
// to callers.
var errRescoped = errors.New("the scope of the access lease has changed")

// whileWaiting calls begin, and sends responses without counts at an interval until begin returns.
func (s *countsSender) whileWaiting(ctx context.Context, begin *starting, followCounts func() (*liveCounts, error)) (*liveCounts, error) {
	return whileWaiting(ctx, func(ctx context.Context) error {
		return s.send(ctx, nil, streamlife.Guard{}, &kubeconnectv1.WatchCountsResponse{Freshness: begin.freshness()})
	}, followCounts)
}

// follow sends the counts, and changes to them, until the client disconnects, the stream ends, or the
// scope changes, which is errRescoped.
func (s *countsSender) follow(ctx context.Context, c *liveCounts) error {
	defer c.close()
	s.part.SetResource(c.cache.Resource())
	for {
		if err := s.keepLease(ctx, c); err != nil {
			return err
		}
		if err := s.followPeriod(ctx, c); err != nil {
			return err
		}
	}
}

// followPeriod sends responses until the lease must be renewed, or has been renewed by a send.
func (s *countsSender) followPeriod(ctx context.Context, c *liveCounts) error {
	period, cancel := c.lease.Period(ctx)
	defer cancel()
	for due := c.lease.Due; c.lease.Due.Equal(due); {
		if err := s.await(period, c); err != nil {
			return c.lease.EndOfPeriod(ctx, err)
		}
		if err := s.sendNext(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// keepLease renews the lease if that is due. It returns errRescoped if the lease then has another
// scope. While the cluster cannot be asked, only stale responses without changes are sent.
func (s *countsSender) keepLease(ctx context.Context, c *liveCounts) error {
	withheld, err := c.lease.RenewUntilValid(ctx, func() error { return s.withhold(ctx, c) })
	if err != nil {
		return err
	}
	if withheld {
		s.sentAt = time.Time{} // a response reports at once that the counts are current again
	}
	if !c.lease.Scope.Equal(c.scope) {
		return errRescoped
	}
	return nil
}

// withhold sends the counts that the client has as stale, and waits until the next attempt to renew
// the lease.
func (s *countsSender) withhold(ctx context.Context, c *liveCounts) error {
	if c.at.Epoch != 0 {
		if err := s.repeat(ctx, c, true); err != nil {
			return err
		}
	}
	return c.lease.AwaitRetry(ctx)
}

// repeat sends the counts that the client has.
func (s *countsSender) repeat(ctx context.Context, c *liveCounts, stale bool) error {
	last := countsUpdate{at: c.at, Difference: counts.Difference{Total: s.total}}
	last.at.Freshness.Stale = stale
	return s.send(ctx, nil, streamlife.Guard{}, s.encode(c, last))
}

// await blocks until a response is due: because the counts have changed and the interval has passed, at
// the pace of the caller's streams, or because nothing was sent for a while. It fails with informerhub.ErrInterrupted if the lease may
// have changed.
func (s *countsSender) await(ctx context.Context, c *liveCounts) error {
	quiet, cancel := context.WithDeadline(ctx, s.sentAt.Add(BookmarkInterval))
	defer cancel()
	err := s.awaitChange(quiet, c)
	if err == nil && c.at.Epoch == 0 {
		return nil // the caller has asked for the first counts, which therefore wait for no turn
	}
	if err == nil {
		err = s.awaitInterval(quiet, c)
	}
	switch {
	case err == nil:
		return s.awaitTurn(ctx, c)
	case ctx.Err() == nil && quiet.Err() != nil:
		return nil
	}
	return err
}

// awaitTurn blocks until it is the turn of the stream, by the pace of its caller. While that takes long, it sends the counts that the
// client has.
func (s *countsSender) awaitTurn(ctx context.Context, c *liveCounts) error {
	for {
		waiting, cancel := context.WithDeadlineCause(ctx, s.sentAt.Add(waitingInterval), errWaiting)
		endTurn, err := fairqueue.BeginTurn(waiting)
		cancel()
		if err == nil {
			endTurn()
		}
		if !errors.Is(err, errWaiting) {
			return err
		}
		if err := s.repeat(ctx, c, c.at.Freshness.Stale); err != nil {
			return err
		}
	}
}

// awaitChange blocks until the counts, or whether they are stale, are not as the client has them.
func (s *countsSender) awaitChange(ctx context.Context, c *liveCounts) error {
	for changed := false; !changed; {
		if err := c.follower.Wait(ctx, c.at, c.lease.Changed); err != nil {
			return err
		}
		if err := c.follower.Read(func(state *counts.State, at follow.Moment) {
			changed = at.Epoch != c.at.Epoch || state.ChangedSince(c.at.Generation) || at.Freshness.Stale != c.at.Freshness.Stale
			if !changed {
				c.at = at // the client has the counts of this moment
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// awaitInterval blocks until the interval since the last response with changes has passed.
func (s *countsSender) awaitInterval(ctx context.Context, c *liveCounts) error {
	passed := time.NewTimer(time.Until(s.changedAt.Add(s.interval)))
	defer passed.Stop()
	select {
	case <-passed.C:
		return nil
	case <-c.lease.Changed:
		return informerhub.ErrInterrupted
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// countsUpdate is what leads from the counts that the client has to those of a moment.
type countsUpdate struct {
	counts.Difference
	at      follow.Moment
	changed bool
}

// sendNext sends the difference to the published counts. It sends no changes before the interval has
// passed.
func (s *countsSender) sendNext(ctx context.Context, c *liveCounts) error {
	if err := s.part.Settle(false); err != nil {
		return err
	}
	held, err := s.reserve(ctx, c)
	if err != nil {
		return s.permittedError(ctx, c, err)
	}
	defer held.Release()
	update, err := s.next(c)
	if err == nil && len(update.Groups) > 0 {
		err = c.keeping.Resize(update.HeldBytes())
	}
	if err != nil {
		return s.permittedError(ctx, c, err)
	}
	if err := s.sendPermitted(ctx, c, held, s.encode(c, update)); err != nil {
		return err
	}
	s.part.NoteBegun(ctx)
	c.at, s.total, s.warnings = update.at, update.Total, update.at.Warnings
	if update.changed {
		s.changedAt = time.Now() // sending may have taken a while
	}
	return s.part.Settle(true)
}

// permittedError returns an error of the follower under a valid lease. The error can name an object
// that the caller was not permitted to read any more when it was created.
func (s *countsSender) permittedError(ctx context.Context, c *liveCounts, err error) error {
	if err := s.keepLease(ctx, c); err != nil {
		return err
	}
	return err
}

// reserve reserves memory for the next response.
func (s *countsSender) reserve(ctx context.Context, c *liveCounts) (budget.Held, error) {
	size := 0
	if err := c.follower.Read(func(state *counts.State, at follow.Moment) {
		size = state.BytesSince(c.at.Generation, at.Epoch != c.at.Epoch)
	}); err != nil {
		return budget.Held{}, err
	}
	return s.memory.ReserveMessage(ctx, size, s.asJSON)
}

// next reads the next update.
func (s *countsSender) next(c *liveCounts) (update countsUpdate, err error) {
	due := c.at.Epoch == 0 || time.Since(s.changedAt) >= s.interval
	err = c.follower.Read(func(state *counts.State, at follow.Moment) {
		changed := at.Epoch != c.at.Epoch || state.ChangedSince(c.at.Generation)
		switch {
		case changed && !due:
			update = countsUpdate{at: c.at, Difference: counts.Difference{Total: s.total}}
			update.at.Freshness.Stale = at.Freshness.Stale
		case at.Epoch != c.at.Epoch:
			update = countsUpdate{state.All(), at, changed}
		default:
			update = countsUpdate{state.Since(c.at.Generation), at, changed}
		}
	})
	return update, err
}

// encode returns an update as a response, which the client must receive: it has the groups then.
func (s *countsSender) encode(c *liveCounts, update countsUpdate) *kubeconnectv1.WatchCountsResponse {
	response := &kubeconnectv1.WatchCountsResponse{
		Reset_:          update.Reset,
		TotalCount:      update.Total.Count(),
		Aggregates:      s.plan.EncodeAggregates(update.Total),
		ResourceVersion: update.at.Version,
		Freshness:       encode.Freshness(update.at.Freshness),
	}
	if update.Reset {
		c.held = counts.Held{}
	}
	for _, group := range update.Groups {
		if encoded := s.plan.Encode(group); c.held.Take(group, encoded) {
			response.Groups = append(response.Groups, encoded)
		}
	}
	if update.Reset {
		resource := c.lease.Request.Resource
		response.Resource, response.Source = encode.Kind(resource), sourceOf(resource)
		response.Namespaces, response.Warnings = access.Coverage(c.lease.Request, c.scope)
	}
	if update.Reset || !slices.Equal(update.at.Warnings, s.warnings) {
		response.Warnings = append(response.Warnings, update.at.Warnings...)
	}
	return response
}

// sendPermitted sends a response under a valid lease. It renews the lease first if that is due.
func (s *countsSender) sendPermitted(ctx context.Context, c *liveCounts, held budget.Held, response *kubeconnectv1.WatchCountsResponse) error {
	for {
		if err := s.keepLease(ctx, c); err != nil {
			return err
		}
		if err := s.send(ctx, c.lease, streamlife.Guard{Contended: held.Awaited}, response); !errors.Is(err, access.ErrDue) {
			return err
		}
	}
}

// send sends a response under a lease; see Lease.send.
func (s *countsSender) send(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchCountsResponse) error {
	s.sentAt = time.Now()
	return s.outlet(ctx, lease, guarded, response)
}
