package reads

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
)

// maxUpstreamListBytes bounds a list that is read at the API server, because its objects are not shared
// with a cache.
const maxUpstreamListBytes = 128 << 20

const (
	// maxUpstreamLists bounds the lists that are read at one time. One caller can use a quarter of
	// them. Other lists wait.
	maxUpstreamLists     = 8
	upstreamListsDivisor = 4
	// maxUpstreamListsWaiting bounds the waiting lists of one caller.
	maxUpstreamListsWaiting = 64
	// upstreamTimeout is the time after which a waiting list is rejected.
	upstreamTimeout = 10 * time.Second
	// upstreamTurn is the time after which a list of many requests lets the waiting lists of other callers go first. It is much
	// shorter than upstreamTimeout. Most lists end before it, so that few lists that are half read keep memory.
	upstreamTurn = time.Second
)

// newUpstreamLists returns the queue for slots to list at the API server.
func newUpstreamLists(limits gate.Limits) *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Name: "other lists", Total: maxUpstreamLists, PerKey: limits.Part(maxUpstreamLists, upstreamListsDivisor), Waiting: maxUpstreamListsWaiting})
}

// isLive reports whether a read goes to the API server.
func isLive(resource informerhub.Resource, consistency kubeconnectv1.Consistency) bool {
	return consistency == kubeconnectv1.Consistency_CONSISTENCY_LATEST || !resource.Cacheable()
}

// Upstream reads at the API server, as the caller. Its methods are safe for concurrent use. The API server checks the
// caller's permissions, and its errors are returned to the caller.
type Upstream struct {
	// Set once.
	hub     *informerhub.Hub
	clients *auth.ClientFactory
	slots   *fairqueue.Queue // to list
}

// reader returns a reader of a resource. If the API server does not offer the verb, the error is
// MethodNotAllowed, not NotFound.
func (u *Upstream) reader(ctx context.Context, resource informerhub.Resource, verb string) (*informerhub.Live, error) {
	// A resource that can be watched is taken to offer every verb to read it, without asking discovery.
	if !resource.Watchable {
		offering, err := u.hub.Resolver().Subresources(ctx, resource, verb)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(offering, "") {
			return nil, apierrors.NewMethodNotSupported(resource.GroupResource(), verb)
		}
	}
	return u.hub.Live(resource, budget.ReservingClient(ctx, u.clients.For(call.IdentityFrom(ctx)).HTTP))
}

// list waits for a slot and lists at a position: at its version, or in each of its namespaces at the version there. The zero position
// is the latest state.
//
// The slot bounds how many lists are decoded at a time, each of up to maxUpstreamListBytes. A list of many namespaces or pages
// is read by one request after the other, so the slots bound the requests, too.
func (u *Upstream) list(ctx context.Context, live *informerhub.Live, query informerhub.Query, at informerhub.Position) (informerhub.Snapshot, []string, error) {
	slot, err := u.acquireSlot(ctx)
	if err != nil {
		return informerhub.Snapshot{}, nil, err
	}
	defer func() { slot.release() }()
	snapshot, warnings, err := listAt(ctx, live.InTurns(slot.turn), query, at)
	return snapshot, warnings, budget.UpstreamError(ctx, err)
}

func listAt(ctx context.Context, live *informerhub.Live, query informerhub.Query, at informerhub.Position) (whole informerhub.Snapshot, warnings []string, err error) {
	switch {
	case at.Namespaces == nil && at.Version == "":
		return live.List(ctx, query, maxUpstreamListBytes)
	case at.Namespaces == nil:
		return live.ListAt(ctx, query, at.Version, maxUpstreamListBytes)
	}
	for _, part := range at.Namespaces {
		query.Namespace = part.Namespace
		snapshot, more, err := listAt(ctx, live, query, part.Position)
		if err != nil {
			return informerhub.Snapshot{}, nil, err
		}
		whole.Objects, warnings = append(whole.Objects, snapshot.Objects...), append(warnings, more...)
	}
	whole.ResourceVersion = at.Version
	return whole, warnings, nil
}

// listSlot is a slot to list. It is owned by the goroutine of one call.
type listSlot struct {
	queue   *fairqueue.Queue
	caller  string // see call.CallerKey
	since   time.Time
	release func() // changes in turn
}

// acquireSlot waits for a slot to list. The caller must call its release.
func (u *Upstream) acquireSlot(ctx context.Context) (*listSlot, error) {
	caller := call.CallerKey(call.IdentityFrom(ctx))
	release, err := u.slots.AcquireWithin(ctx, caller, 1, upstreamTimeout)
	switch {
	case err == nil:
		return &listSlot{queue: u.slots, caller: caller, since: time.Now(), release: release}, nil
	case ctx.Err() != nil:
		return nil, slotCanceled(ctx)
	}
	return nil, budget.Busy(callerrors.LimitUpstreamLists, "too many lists are being read at the API server, by you or in all")
}

// turn passes the slot on if it has lasted for upstreamTurn and the list of another caller waits, and waits for a slot again.
// This has no timeout of its own: the list would begin again from its first request, and the queue gives each caller its turn.
func (s *listSlot) turn(ctx context.Context) (err error) {
	if time.Since(s.since) < upstreamTurn {
		return nil
	}
	if s.release, err = s.queue.Pass(ctx, s.caller, 1, s.release); err != nil {
		return slotCanceled(ctx)
	}
	s.since = time.Now()
	return nil
}

func slotCanceled(ctx context.Context) error {
	return fmt.Errorf("waiting for a slot to list at the API server: %w", context.Cause(ctx))
}
