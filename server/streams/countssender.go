package streams

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/reads"
)

// countsSender sends the responses of live counts. It is owned by the goroutine that follows them.
//
// A follower, which all streams with the same question share, has the current counts. A response has the groups that have
// changed since the moment of the response before. A change therefore costs each stream only the groups that it changes, and
// a client that reads slowly receives the sum of several changes, not each of them.
//
// Unlike events, counts of one scope cannot be reduced to another scope. When the scope changes, the counts end with
// errRescoped, and countsPart follows new ones.
type countsSender struct {
	// Set once.
	outlet   outlet[*kubeconnectv1.WatchCountsResponse]
	part     *streamlife.StreamPart
	memory   budget.Messages
	plan     *counts.Plan
	interval time.Duration
	asJSON   bool // the caller's codec writes JSON

	counted *liveCounts // that are followed; set by attach, like leased
	leased  leasedStream

	// What the client has, in addition to counted.at and counted.held. Recorded after a response was sent.
	total    counts.Group // the total that was sent last
	warnings []string     // the warnings of the moment that was sent last

	// When the next response is due: BookmarkInterval after sentAt, or for changes interval after changedAt.
	sentAt    time.Time // when the last response began to be sent; zero if a response is due at once
	changedAt time.Time // when the last response with changes had been sent
}

// errRescoped ends the use of counts whose scope is no longer that of the lease. It is never returned
// to callers.
var errRescoped = errors.New("the scope of the access lease has changed")

// whileWaiting calls begin, and sends responses without counts at an interval until begin returns.
func (s *countsSender) whileWaiting(ctx context.Context, begin *waitingStream, followCounts func() (*liveCounts, error)) (*liveCounts, error) {
	return whileWaiting(ctx, func(ctx context.Context) error {
		return s.sendUnder(ctx, nil, streamlife.Guard{}, &kubeconnectv1.WatchCountsResponse{Freshness: begin.freshness()})
	}, followCounts)
}

// follow sends the counts, and changes to them, until the client disconnects, the stream ends, or the
// scope changes, which is errRescoped. It closes c.
func (s *countsSender) follow(ctx context.Context, c *liveCounts) error {
	defer c.close()
	s.attach(c)
	s.part.SetResource(c.cache.Resource())
	return s.leased.follow(ctx)
}

// attach makes c the counts that are followed.
func (s *countsSender) attach(c *liveCounts) {
	s.counted, s.leased = c, leasedStream{c.lease, s}
}

// scope implements source.
func (s *countsSender) scope() auth.Namespaces { return s.counted.scope }

// rescope implements source. It ends these counts: see countsPart.follow.
func (s *countsSender) rescope(context.Context) error { return errRescoped }

// markedAt implements source. Every response has the freshness of the counts.
func (s *countsSender) markedAt() (time.Time, bool) {
	return s.sentAt, s.counted.at.Epoch != 0 && !s.sentAt.IsZero()
}

// repeat implements source. It sends the counts that the client has: the total and the aggregates, without groups.
func (s *countsSender) repeat(ctx context.Context, stale bool) error {
	if stale {
		defer func() { s.sentAt = time.Time{} }() // a response reports at once that the counts are current again
	}
	if s.counted.at.Epoch == 0 {
		return nil
	}
	last := countsUpdate{at: s.counted.at, Difference: counts.Difference{Total: s.total}}
	last.at.Freshness.Stale = stale || last.at.Freshness.Stale
	last.at.Warnings = s.warnings // newer warnings can name objects, and are sent under a lease only
	return s.sendUnder(ctx, nil, streamlife.Guard{}, s.encode(last))
}

// next implements source. It blocks until a response is due: because the counts have changed and the interval has passed, at
// the pace of the caller's streams, or because nothing was sent for a while.
func (s *countsSender) next(ctx context.Context, changed <-chan struct{}) error {
	quiet, cancel := context.WithDeadline(ctx, s.sentAt.Add(BookmarkInterval))
	defer cancel()
	err := s.awaitChange(quiet, changed)
	if err == nil && s.counted.at.Epoch == 0 {
		return nil // the caller has asked for the first counts, which therefore wait for no turn
	}
	if err == nil {
		err = s.awaitInterval(quiet, changed)
	}
	switch {
	case err == nil:
		// The turn only delays this response. It ends at once, because send waits for memory and for the client.
		endTurn, err := fairqueue.BeginTurn(ctx)
		if err == nil {
			endTurn()
		}
		return err
	case ctx.Err() == nil && quiet.Err() != nil:
		return nil // nothing was sent for BookmarkInterval: the response has no changes, or none that are due
	}
	return err
}

// awaitChange blocks until the counts, or whether they are stale, are not as the client has them. A publication that leaves
// the counts as they are moves counted.at: otherwise the next Wait would return at once.
func (s *countsSender) awaitChange(ctx context.Context, interrupt <-chan struct{}) error {
	c := s.counted
	for changed := false; !changed; {
		if err := c.follower.Wait(ctx, c.at, interrupt); err != nil {
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
func (s *countsSender) awaitInterval(ctx context.Context, interrupt <-chan struct{}) error {
	passed := time.NewTimer(time.Until(s.changedAt.Add(s.interval)))
	defer passed.Stop()
	select {
	case <-passed.C:
		return nil
	case <-interrupt:
		return informerhub.ErrInterrupted
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// countsUpdate is what leads from the counts that the client has to the counts of a moment.
type countsUpdate struct {
	counts.Difference
	at      follow.Moment
	changed bool // it has a change, after which the interval begins again
}

// send implements source. It sends the difference to the published counts, but no changes before the interval has passed.
//
// Memory is reserved before the difference is read, and the charge for the client's groups is resized before encode records
// them. An error until then is returned under a valid lease. After encode, the response must be sent, or the counts must end.
func (s *countsSender) send(ctx context.Context) error {
	c := s.counted
	if err := s.part.Settle(false); err != nil {
		return err
	}
	held, err := s.reserve(ctx)
	if err != nil {
		return s.permittedError(ctx, err)
	}
	defer held.Release()
	// The wait for memory may have been long, so the difference is read only now.
	update, err := s.update()
	if err == nil && len(update.Groups) > 0 {
		err = c.keeping.Resize(update.HeldBytes())
	}
	if err != nil {
		return s.permittedError(ctx, err)
	}
	response := s.encode(update)
	// If the lease is renewed before, the same response is sent under the new lease, unless its scope is another one.
	if err := s.leased.send(ctx, s.check, func() error {
		return s.sendUnder(ctx, c.lease, streamlife.Guard{Contended: held.Awaited}, response)
	}); err != nil {
		return err
	}
	// The client has the counts of the update from here on.
	s.part.NoteBegun(ctx)
	c.at, s.total, s.warnings = update.at, update.Total, update.at.Warnings
	call.NoteCounted(ctx, int(update.Total.Count()))
	if update.changed {
		s.changedAt = time.Now() // sending may have taken a while
	}
	return s.part.Settle(true)
}

// permittedError returns an error of the follower under a valid lease. The error can name an object
// that the caller was not permitted to read any more when it was created.
func (s *countsSender) permittedError(ctx context.Context, err error) error {
	return s.leased.send(ctx, s.check, func() error { return err })
}

// reserve reserves memory for the next response, as large as it would be now.
func (s *countsSender) reserve(ctx context.Context) (budget.Held, error) {
	c := s.counted
	size := 0
	if err := c.follower.Read(func(state *counts.State, at follow.Moment) {
		size = state.BytesSince(c.at.Generation, at.Epoch != c.at.Epoch)
	}); err != nil {
		return budget.Held{}, err
	}
	return s.memory.ReserveMessage(ctx, size, s.asJSON)
}

// update reads the next update:
//
//   - before the interval has passed, the counts that the client has, at their moment, with the current staleness;
//   - after a new epoch, all groups: the follower has another state, whose generations say nothing about the state before;
//   - otherwise, the groups that have changed since the generation that the client has.
//
// The groups are copied under the follower's lock, and encoded without it.
func (s *countsSender) update() (update countsUpdate, err error) {
	c := s.counted
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

// encode returns an update as a response, which the client must receive: it records that the client has the groups. A group
// that has changed back to what the client has is left out. Without groups and without a reset, encode records nothing.
func (s *countsSender) encode(update countsUpdate) *kubeconnectv1.WatchCountsResponse {
	c := s.counted
	response := &kubeconnectv1.WatchCountsResponse{
		Reset_:          update.Reset,
		TotalCount:      update.Total.Count(),
		Aggregates:      s.plan.EncodeAggregates(update.Total),
		ResourceVersion: update.at.Version,
		Freshness:       encode.Freshness(update.at.Freshness),
	}
	if update.Reset {
		c.held = counts.Held{} // the client drops its groups
	}
	for _, group := range update.Groups {
		if encoded := s.plan.Encode(group); c.held.Take(group, encoded) {
			response.Groups = append(response.Groups, encoded)
		}
	}
	// What describes the stream is sent with each reset, and warnings also when they have changed.
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

// check returns errRescoped if the lease has another scope than the counts. More permissions end the counts too: the response
// would be permitted, but its counts would not cover the namespaces of the lease.
func (s *countsSender) check() error {
	if !s.counted.lease.Scope.Equal(s.counted.scope) {
		return errRescoped
	}
	return nil
}

// sendUnder sends a response under a lease; see [access.Lease.Send].
func (s *countsSender) sendUnder(ctx context.Context, lease *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchCountsResponse) error {
	s.sentAt = time.Now()
	return s.outlet(ctx, lease, guarded, response)
}

// liveCounts are the counts of a selection in one scope, and what the client has of them. They are made by
// Watches.followCounts, and then belong to the countsSender, which closes them.
type liveCounts struct {
	// Set once. The lease is the lease of the stream, which outlives the counts of one scope.
	lease    *access.Lease
	scope    auth.Namespaces // the scope of the selection
	related  reads.Relation
	cache    *informerhub.Cache
	endCache func() // releases the cache if it belongs to this stream alone
	account  ledger.Account
	follower *follow.Follower[counts.PlanKey, *counts.State]

	at      follow.Moment  // the moment of the counts that the client has; zero if it has none
	held    counts.Held    // the groups that the client has
	keeping *ledger.Charge // for held
}

// close releases everything that belongs to this stream alone. A private cache ends last: Leave returns when the
// follower no longer uses it.
func (c *liveCounts) close() {
	c.follower.Leave(c.account)
	c.keeping.Release()
	c.endCache()
}
