package gate

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

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

// Health admits the calls of grpc.health.v1.Health.
type Health struct {
	entrance *Entrance
	watches  *fairqueue.Queue
}

// NewHealth returns a gate behind an entrance.
func NewHealth(entrance *Entrance) *Health {
	return &Health{entrance, fairqueue.New(fairqueue.Limits{Total: maxHealthWatches, PerKey: maxHealthWatchesOfNetwork})}
}

// Admit implements connect.RequestGateFunc.
func (g *Health) Admit(ctx context.Context, spec connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	c := call.From(ctx)
	g.entrance.metrics.Begin(c, spec)
	if !call.IsStream(spec) {
		return ctx, nil
	}
	release, ok := g.watches.TryShare(c.Network, 1)
	if !ok {
		err := error(&callerrors.LimitError{
			Limit: callerrors.LimitHealthWatches, Over: "too many watches of health are open, from your network or in all", Wait: refusedTimeout,
		})
		g.entrance.metrics.Limited(err)
		err = callerrors.ConnectError(err)
		g.entrance.metrics.Refused(spec, c, err)
		g.entrance.refuse(c)
		return nil, err
	}
	c.OnEnd(release)
	c.DropHeaders()
	g.entrance.accept(c, spec)
	return ctx, nil
}
