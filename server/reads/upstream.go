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

// list waits for a slot and lists, at a version, or the latest state if version is empty. The slot bounds how many lists are
// decoded at a time, each of up to maxUpstreamListBytes.
func (u *Upstream) list(ctx context.Context, live *informerhub.Live, query informerhub.Query, version string) (informerhub.Snapshot, []string, error) {
	release, err := u.acquireSlot(ctx)
	if err != nil {
		return informerhub.Snapshot{}, nil, err
	}
	defer release()
	read := live.List
	if version != "" {
		read = func(ctx context.Context, query informerhub.Query, limit int) (informerhub.Snapshot, []string, error) {
			return live.ListAt(ctx, query, version, limit)
		}
	}
	snapshot, warnings, err := read(ctx, query, maxUpstreamListBytes)
	return snapshot, warnings, budget.UpstreamError(ctx, err)
}

// acquireSlot waits for a slot to list.
func (u *Upstream) acquireSlot(ctx context.Context) (release func(), err error) {
	release, err = u.slots.AcquireWithin(ctx, call.CallerKey(call.IdentityFrom(ctx)), 1, upstreamTimeout)
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting for a slot to list at the API server: %w", context.Cause(ctx))
	}
	return nil, budget.Busy(callerrors.LimitUpstreamLists, "too many lists are being read at the API server, by you or in all")
}
