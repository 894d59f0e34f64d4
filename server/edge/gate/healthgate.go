package gate

import (
	"context"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// maxHealthWatches and maxHealthWatchesOfNetwork bound the watches of health, which need no
// authentication: in all and from one network.
const (
	maxHealthWatches          = 256
	maxHealthWatchesOfNetwork = 32
	// maxHealthChecks and maxHealthChecksOfNetwork bound the single checks whose request is received.
	maxHealthChecks          = 1024
	maxHealthChecksOfNetwork = 512
	// checkTimeout is the time within which a client must send the request of a check, of a few bytes.
	checkTimeout = 2 * time.Second
)

// Health admits the calls of grpc.health.v1.Health. Probes have no credentials, so its bounds are by network, like those of an
// Entrance, and separate from them: a client that sends a check slowly takes no place of a request whose caller is not known yet.
type Health struct {
	entrance        *Entrance
	checks, watches *fairqueue.Queue
}

// NewHealth returns a gate behind an entrance.
func NewHealth(entrance *Entrance) *Health {
	return &Health{
		entrance: entrance,
		checks:   fairqueue.New(fairqueue.Limits{Total: maxHealthChecks, PerKey: maxHealthChecksOfNetwork}),
		watches:  fairqueue.New(fairqueue.Limits{Total: maxHealthWatches, PerKey: maxHealthWatchesOfNetwork}),
	}
}

// Admit is the interceptor around the calls of health.
func (g *Health) Admit(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		c := call.From(ctx)
		queue, tooMany := g.watches, errTooManyHealthWatches
		if !call.IsStream(spec) {
			queue, tooMany = g.checks, errTooManyHealthChecks
		}
		release, ok := queue.TryShare(c.Network, 1)
		if !ok {
			return g.entrance.refuse(c, spec, tooMany)
		}
		c.OnEnd(release)
		c.DropHeaders()
		g.entrance.accept(c, spec)
		if !call.IsStream(spec) {
			c.ReceiveWithin(checkTimeout)
			c.SendWithin(refusedTimeout)
		}
		return next(ctx, spec, stream)
	}
}

var errTooManyHealthWatches = &callerrors.LimitError{
	Limit: callerrors.LimitHealthWatches, Over: "too many watches of health are open, from your network or in all", Wait: refusedTimeout,
}

var errTooManyHealthChecks = &callerrors.LimitError{
	Limit: callerrors.LimitHealthWatches, Over: "too many checks of health are running, from your network or in all", Wait: checkTimeout,
}
