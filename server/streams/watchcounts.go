package streams

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// The bounds and the default of WatchCountsRequest.min_interval.
const (
	leastCountsInterval   = 100 * time.Millisecond
	mostCountsInterval    = 60 * time.Second
	defaultCountsInterval = time.Second
)

// watchCountsParams are the parsed fields of a request for live counts.
type watchCountsParams struct {
	reads.Selection
	plan     *counts.Plan
	interval time.Duration
	reached  string // the version of the counts that the client has; empty if it has none
}

func parseWatchCounts(request *kubeconnectv1.WatchCountsRequest) (p watchCountsParams, err error) {
	if err := checkWatchedRelation(request.GetRelated()); err != nil {
		return watchCountsParams{}, err
	}
	if p.interval, err = parseInterval(request); err != nil {
		return watchCountsParams{}, err
	}
	if p.plan, err = reads.ParsePlan(request); err != nil {
		return watchCountsParams{}, err
	}
	p.Selection, err = reads.ParseSelection(request)
	return p, err
}

func parseInterval(request *kubeconnectv1.WatchCountsRequest) (time.Duration, error) {
	if request.GetMinInterval() == nil {
		return defaultCountsInterval, nil
	}
	interval := request.GetMinInterval().AsDuration()
	if !request.GetMinInterval().IsValid() || interval < leastCountsInterval || interval > mostCountsInterval {
		return 0, apierror.BadRequest("invalid min_interval %v: give %v to %v", interval, leastCountsInterval, mostCountsInterval)
	}
	return interval, nil
}

// WatchCounts implements kubeconnect.v1.ResourceService.
func (w *Watches) WatchCounts(ctx context.Context, request *kubeconnectv1.WatchCountsRequest, stream *connect.ServerStream[kubeconnectv1.WatchCountsResponse]) error {
	params, err := parseWatchCounts(request)
	if err != nil {
		return err
	}
	ctx, open, end := w.streams.Begin(ctx, 1)
	defer end()
	sender := w.newCountsSender(ctx, params, &streamlife.StreamPart{Stream: open}, outletTo(stream))
	return w.run(ctx, &countsPart{watches: w, params: params, sender: sender})
}

// newCountsSender returns the sender of live counts.
func (w *Watches) newCountsSender(ctx context.Context, params watchCountsParams, of *streamlife.StreamPart, send outlet[*kubeconnectv1.WatchCountsResponse]) *countsSender {
	return &countsSender{
		outlet: send, part: of, plan: params.plan, interval: params.interval,
		memory: budget.Messages{Queue: w.sending, Caller: call.CallerKey(call.IdentityFrom(ctx))}, asJSON: call.WantsMessages(ctx),
	}
}

// countsPart is live counts as a part of a stream.
type countsPart struct {
	watches *Watches // set once, like params and sender
	params  watchCountsParams
	sender  *countsSender

	counted *liveCounts // the counts that start has started
}

// start implements part.
func (p *countsPart) start(ctx context.Context) (err error) {
	p.counted, err = p.watches.startCounts(ctx, p.params, p.sender)
	return err
}

// follow implements part. It follows the counts in each scope that the lease has.
func (p *countsPart) follow(ctx context.Context) error {
	for {
		err := p.sender.follow(ctx, p.counted)
		if !errors.Is(err, errRescoped) {
			return err
		}
		if p.counted, err = p.watches.rescopeCounts(ctx, p.params, p.sender, p.counted); err != nil {
			return err
		}
	}
}

// resourceName implements part.
func (p *countsPart) resourceName() string { return p.params.Resource }

// liveCounts are the counts of a selection in one scope, and what the client has of them.
type liveCounts struct {
	// Set once.
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

// close releases everything that belongs to this stream alone.
func (c *liveCounts) close() {
	c.follower.Leave(c.account)
	c.keeping.Release()
	c.endCache()
}

// startCounts starts to follow the counts of the selected objects. While it waits for a snapshot, the
// sender sends responses that it waits.
func (w *Watches) startCounts(ctx context.Context, params watchCountsParams, sender *countsSender) (*liveCounts, error) {
	return target.OnResource(ctx, w.targets, params.Resource, func(resource informerhub.Resource) (*liveCounts, error) {
		lease, err := w.leases.Grant(ctx, access.ToWatch(resource, params.Namespace, "", params.FieldSelector).Requiring(params.Indivisible))
		if err != nil {
			return nil, err
		}
		begin := &starting{lease: lease}
		return sender.whileWaiting(ctx, begin, func() (*liveCounts, error) {
			related, err := w.reads.Relations.Resolve(ctx, params.Related, resource, kubeconnectv1.Consistency_CONSISTENCY_CACHED)
			if err != nil {
				return nil, err
			}
			return w.followCounts(ctx, params, begin, related)
		})
	})
}

// rescopeCounts follows the counts in the current scope of the lease.
func (w *Watches) rescopeCounts(ctx context.Context, params watchCountsParams, sender *countsSender, before *liveCounts) (*liveCounts, error) {
	begin := &starting{lease: before.lease}
	params.MinVersion, params.reached = "", before.at.Version // the stream has reached the former
	return sender.whileWaiting(ctx, begin, func() (*liveCounts, error) { return w.followCounts(ctx, params, begin, before.related) })
}

// followCounts follows the counts of the selected objects in the scope of the lease.
func (w *Watches) followCounts(ctx context.Context, params watchCountsParams, begin *starting, related reads.Relation) (*liveCounts, error) {
	counted := &liveCounts{account: ledger.From(ctx), lease: begin.lease, scope: begin.lease.Scope, related: related}
	query, err := w.reads.Snapshots.Query(ctx, params.Selection, related, counted.scope)
	if err != nil {
		return nil, err
	}
	if counted.cache, counted.endCache, err = w.cacheToWatch(ctx, counted.lease, query, false); err != nil {
		return nil, err
	}
	begin.cache.Store(counted.cache)
	counted.keeping, _ = counted.account.Charge(0) // nothing fits always
	if err := w.joinCounts(ctx, params, counted, query); err != nil {
		counted.endCache()
		return nil, err
	}
	return counted, nil
}

// joinCounts joins the follower of the counts, and waits until it has reached the version that the
// stream must see.
func (w *Watches) joinCounts(ctx context.Context, params watchCountsParams, counted *liveCounts, query informerhub.Query) error {
	if err := target.AwaitVersion(ctx, counted.cache, params.MinVersion); err != nil {
		return err
	}
	selection, err := counted.cache.Select(ctx, query)
	if err != nil {
		return err
	}
	question := follow.Question[counts.PlanKey]{
		Cache: counted.cache, Selection: selection, State: params.plan.Key(),
		Account: counted.account, Private: !counted.lease.Request.Resource.Cacheable(),
	}
	counted.follower, err = w.counted.Join(ctx, question, func(grown func(int) error) *counts.State { return counts.NewState(params.plan, grown) })
	reached := newer(params.MinVersion, params.reached)
	if err != nil || reached == "" {
		return err
	}
	if err := counted.follower.Reach(ctx, reached); err != nil {
		counted.follower.Leave(counted.account)
		return err
	}
	return nil
}
