package gate

import (
	"context"

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
)

// Health admits the calls of grpc.health.v1.Health. Probes have no credentials, so its bounds are by network, like those of an
// Entrance. A single check stays within the bounds for unknown callers; a watch, which lasts, has a bound of its own.
type Health struct {
	entrance *Entrance
	watches  *fairqueue.Queue
}

// NewHealth returns a gate behind an entrance.
func NewHealth(entrance *Entrance) *Health {
	return &Health{entrance, fairqueue.New(fairqueue.Limits{Total: maxHealthWatches, PerKey: maxHealthWatchesOfNetwork})}
}

// Admit is the interceptor around the calls of health.
func (g *Health) Admit(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		c := call.From(ctx)
		if !call.IsStream(spec) {
			return next(ctx, spec, stream)
		}
		release, ok := g.watches.TryShare(c.Network, 1)
		if !ok {
			return g.entrance.refuse(c, spec, errTooManyHealthWatches)
		}
		c.OnEnd(release)
		c.DropHeaders()
		g.entrance.accept(c, spec)
		return next(ctx, spec, stream)
	}
}

var errTooManyHealthWatches = &callerrors.LimitError{
	Limit: callerrors.LimitHealthWatches, Over: "too many watches of health are open, from your network or in all", Wait: refusedTimeout,
}
