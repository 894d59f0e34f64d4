package streams

import (
	"context"
	"crypto/sha256"
	"math"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/reads"
)

const (
	// joinInterval is the shortest time between two looks at changes of related objects.
	joinInterval = time.Second
	// kindsInterval is the time after which the kinds of owners are looked up again.
	kindsInterval = 5 * time.Minute
	// joinShare is the divisor of the part of a processor that the joins of a stream may need: after they
	// have been computed, the next look follows after this multiple of the time that it took.
	joinShare = 20
	// maxJoinPause bounds that pause. Nothing within the limits computes for half a second: what takes
	// longer has stood still, like the whole service, or has waited.
	maxJoinPause = 10 * time.Second
	// maxJoinedPageBytes bounds the joined objects of a page.
	maxJoinedPageBytes = 2 << 20
	// maxLiveIndexBytes bounds the memory for indexes while the joins of a page are computed.
	maxLiveIndexBytes = 16 << 20
	// maxJoinTurns bounds the pages whose joins are computed at a time.
	maxJoinTurns = 8
)

// joinedResult are the results of the joins for one object. The hash is kept for as long as the client has the object, and
// the message only until it was sent: a page keeps 16 bytes for each object, not all of its related objects.
type joinedResult struct {
	hash    string // of message; empty without joins
	message string // fields of the object's message; empty if the client has them
}

// liveJoins keeps the joins of a page true, for what its stream's lease permits. Nil is no joins. It
// is owned by the goroutine that follows the watch.
//
// Nothing reports which objects of a page a change of a related object concerns. So the page looks at the caches of the
// related objects at an interval: if their revisions have changed, all objects of the page are joined again, and the
// objects with other results are sent. In between, only objects that have themselves changed are joined. Both are paced by
// the time that the computation takes: see joinShare.
//
// The results that a client has depend on three things: the objects, the related objects, and the permission to read them.
// All objects are joined again when the related objects have changed (see revisions), and when the joins read something else
// (see identity), as after a change of permissions. Both are recorded only when the results are in a batch: see settle.
type liveJoins struct {
	// Set once.
	snapshots *reads.Snapshots
	params    WatchParams
	lease     *access.Lease
	turns     *fairqueue.Queue // see newJoinTurns
	account   ledger.Account   // of the stream
	unsent    *ledger.Charge   // of results that were computed and are not sent yet; see livePage.release

	// Resolved under the lease at resolvedAt. They are replaced together when the lease was renewed.
	relater    *reads.Relater
	page       *joins.Page
	resolvedAt time.Time
	permitted  []access.RelatedRead // what the results depend on; see livePage.isPermitted
	identity   joins.Identity       // of what the joins read
	isChanged  bool                 // reports whether not all objects were joined since the identity changed
	forgetAt   time.Time            // when the kinds of owners are looked up again

	// When the related objects are looked at, and what was seen then.
	revisions []informerhub.Revision // of the caches when all objects were joined last
	fresh     informerhub.Freshness  // of the caches when they had these revisions last
	checkAt   time.Time              // when the revisions are compared next
	restUntil time.Time              // when changed objects can be joined next
	took      time.Duration          // how long the last computation had a processor
	joinedAll func()                 // records that all objects were joined; nil if they were not; see settle
	warnings  []string
}

// isOutdated reports whether the lease has been renewed since the joins were resolved. The page is then read at once, so that
// the joins are resolved under the new lease before anything else is computed.
func (l *liveJoins) isOutdated() bool {
	return l != nil && !l.resolvedAt.Equal(l.lease.RenewedAt)
}

// wakeBefore returns the time at which the page is read again, if nothing else happens.
func (l *liveJoins) wakeBefore(next time.Time) time.Time {
	if l == nil || next.Before(l.checkAt) {
		return next
	}
	return l.checkAt
}

// freshness returns the freshness of what the page and its joins are computed from.
func (l *liveJoins) freshness(page informerhub.Freshness) informerhub.Freshness {
	if l == nil {
		return page
	}
	return reads.MergeFreshness(page, l.fresh)
}

// allWarnings returns the warnings of the last computation for all objects of the page.
func (l *liveJoins) allWarnings() []string {
	if l == nil {
		return nil
	}
	return l.warnings
}

// resolve resolves the joins under the current lease. After an error the joins are as before, and isOutdated still holds.
func (l *liveJoins) resolve(ctx context.Context) error {
	at := l.lease.RenewedAt
	relater := l.snapshots.Relater(l.params.Selection, l.lease.Request.Resource, l.lease.ScopeOf)
	resolved, err := relater.ResolveAll(ctx, l.params.joins)
	if err != nil {
		return err
	}
	page := joins.NewPage(resolved, nil)
	if err := l.followKnown(ctx, relater, page); err != nil {
		return err
	}
	// Most renewals change nothing: with the same identity, the results that the client has remain true.
	if identity := page.Identity(); identity != l.identity {
		l.identity, l.isChanged = identity, true
	}
	l.relater, l.page, l.resolvedAt, l.permitted = relater, page, at, slices.Clone(l.lease.Related)
	return nil
}

// followKnown follows the kinds of owners that were followed before. From time to time it follows
// none, so that those are found again which the objects of the page have now.
func (l *liveJoins) followKnown(ctx context.Context, relater *reads.Relater, page *joins.Page) error {
	if l.page == nil || time.Now().After(l.forgetAt) {
		l.forgetAt = time.Now().Add(kindsInterval)
		return nil
	}
	relater.Unserved = l.relater.Unserved
	return relater.Follow(ctx, page, l.page.Followed())
}

// reserving returns a function that reserves memory for indexes, of at most some bytes in all, as a part of a
// charge.
func reserving(charge *ledger.Charge, limit int) func(context.Context, int) error {
	return func(_ context.Context, bytes int) error {
		if limit -= bytes; limit < 0 {
			return apierror.BadRequest("too many objects may be related to those of the page: select the objects of one namespace, or call List at an interval")
		}
		return charge.Add(bytes)
	}
}

// newJoinTurns returns the queue for computations of joins of pages. A caller computes the joins of one page after
// the other, because each computation holds memory, also while it waits for a processor. The number of waiting pages is not
// bounded here: there are no more of them than streams.
func newJoinTurns(limits gate.Limits) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other joins", Total: maxJoinTurns, PerKey: limits.Part(maxJoinTurns, maxJoinTurns), Waiting: math.MaxInt})
}

// results returns the results of the joins for the objects of a page. held are the objects that the
// client has; results that have not changed have no message.
func (l *liveJoins) results(ctx context.Context, objects []*informerhub.Object, held []heldObject) ([]joinedResult, error) {
	if l == nil {
		return nil, nil
	}

	// Which objects are joined: all of them, or only the objects whose results are not known. An object is known by its
	// pointer: a change of an object is another object.
	all, err := l.isDue(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[*informerhub.Object]joinedResult, len(held))
	if !all {
		for _, object := range held {
			known[object.object] = object.joined
		}
	}
	if !all && hasUnknown(objects, known) {
		if err := l.rest(ctx); err != nil {
			return nil, err
		}
	}

	// The revisions are read before the objects are joined: a change during the computation is seen at the next look.
	fresh, revisions := l.currentFreshness(), l.currentRevisions()
	l.took = 0
	results, err := l.join(ctx, objects, known)

	// When the next computation follows. Changed objects wait for joinInterval at most: they are sent with their results.
	pause := min(joinShare*l.took, maxJoinPause)
	l.restUntil = time.Now().Add(min(pause, joinInterval))
	l.joinedAll = nil
	if all && err == nil {
		checkAt := time.Now().Add(max(joinInterval, pause))
		l.joinedAll = func() { l.isChanged, l.fresh, l.revisions, l.checkAt = false, fresh, revisions, checkAt }
	}
	return results, err
}

// settle records that the results are in a batch. Without it, as when the caller's context ends before, all
// objects are joined again. It does nothing if only some objects were joined, because the related objects of the others may
// have changed.
func (l *liveJoins) settle() {
	if l != nil && l.joinedAll != nil {
		l.joinedAll()
		l.joinedAll = nil
	}
}

// hasUnknown reports whether some objects have no known results.
func hasUnknown(objects []*informerhub.Object, known map[*informerhub.Object]joinedResult) bool {
	return slices.ContainsFunc(objects, func(object *informerhub.Object) bool {
		_, ok := known[object]
		return !ok
	})
}

// rest blocks until changed objects can be joined. Without it, a page of which an object changes
// again and again would index the related objects each time.
func (l *liveJoins) rest(ctx context.Context) error {
	timer := time.NewTimer(time.Until(l.restUntil))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isDue reports whether all objects must be joined again: because the joins read something else than
// before, or because related objects may have changed and enough time has passed.
func (l *liveJoins) isDue(ctx context.Context) (bool, error) {
	if l.isOutdated() {
		if err := l.resolve(ctx); err != nil {
			return false, err
		}
	}
	if l.isChanged {
		return true, nil // at once, without a pause: the caller may have lost a permission
	}
	if time.Now().Before(l.checkAt) {
		return false, nil
	}
	l.checkAt = time.Now().Add(joinInterval)
	fresh := l.currentFreshness()
	if !slices.Equal(l.revisions, l.currentRevisions()) {
		return true, nil
	}
	l.fresh = fresh // the results are true as of now, although nothing was computed
	return false, nil
}

// currentFreshness returns the freshness of the stalest of the caches of related objects.
func (l *liveJoins) currentFreshness() informerhub.Freshness {
	return l.relater.Freshness(informerhub.Freshness{LastContact: time.Now()})
}

// currentRevisions returns the revisions of the caches of related objects, in the order in which the joins were resolved.
func (l *liveJoins) currentRevisions() []informerhub.Revision {
	revisions := make([]informerhub.Revision, len(l.relater.Caches))
	for i, cache := range l.relater.Caches {
		revisions[i] = cache.Revision()
	}
	return revisions
}

// join joins the objects without known results. The results are in the order of the objects.
func (l *liveJoins) join(ctx context.Context, objects []*informerhub.Object, known map[*informerhub.Object]joinedResult) ([]joinedResult, error) {
	results := make([]joinedResult, len(objects))
	var rows []*informerhub.Object
	var at []int
	for i, object := range objects {
		if result, ok := known[object]; ok {
			results[i] = result
		} else {
			rows, at = append(rows, object), append(at, i)
		}
	}
	if len(rows) == 0 {
		return results, nil
	}
	messages, err := l.messages(ctx, rows, len(rows) == len(objects))
	for i, message := range messages {
		hash := sha256.Sum256(message)
		results[at[i]] = joinedResult{string(hash[:hashBytes]), string(message)}
	}
	return results, err
}

// hashBytes is the length of the hash of results. Two results have the same hash with a probability
// of 1 to 10³⁸.
const hashBytes = 16

// messages returns the fields of the messages of some objects with the results of their joins. all
// reports whether these are all objects of the page, to which the warnings apply.
//
// What can wait for the network comes first, then the turn of the caller, then memory, then the processor slot. So a stream
// that waits for a cache blocks no other page of its caller, and a turn is not kept while its stream waits for anything but a
// processor. The indexes are released at the end; the messages remain charged to unsent.
func (l *liveJoins) messages(ctx context.Context, rows []*informerhub.Object, all bool) ([][]byte, error) {
	charge, _ := l.account.Charge(0) // nothing fits always
	defer charge.Release()
	page := l.page.Next(reserving(charge, maxLiveIndexBytes))
	if page.FollowsOwners() {
		if err := l.relater.FollowOwners(ctx, page, rows); err != nil {
			return nil, err
		}
		l.permitted = slices.Clone(l.lease.Related) // the kinds that were found may have added reads to the lease
	}
	endTurn, err := l.turns.Acquire(ctx, call.CallerKey(l.lease.Caller.Identity), 1)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	if err := charge.Add(page.Memory()); err != nil {
		return nil, err
	}
	return budget.InSlot(ctx, func(ctx context.Context) ([][]byte, error) {
		defer func(began time.Time) { l.took = time.Since(began) }(time.Now())
		messages, size := make([][]byte, len(rows)), 0
		for i, row := range rows {
			message, full, err := page.Append(ctx, nil, row)
			if err != nil {
				return nil, err
			}
			if size += len(message); full || size > maxJoinedPageBytes {
				return nil, errJoinsTooLarge
			}
			if err := l.unsent.Add(len(message)); err != nil {
				return nil, err
			}
			messages[i] = message
		}
		reads.NoteJoined(ctx, page)
		if all {
			l.warnings = slices.Concat(l.relater.AllWarnings(), page.Warnings())
		}
		return messages, nil
	})
}

var errJoinsTooLarge = apierror.BadRequest("the joins of the page have too many or too large related objects: at most %d MiB in all: "+
	"give a smaller limit, fewer fields, or call List at an interval", maxJoinedPageBytes>>20)
