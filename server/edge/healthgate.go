package edge

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// maxHealthWatches and maxHealthWatchesOfNetwork bound the watches of health, which need no
// authentication: in all and from one network.
const (
	maxHealthWatches          = 256
	maxHealthWatchesOfNetwork = 32
)

// healthGate admits the calls of grpc.health.v1.Health.
type healthGate struct {
	entrance *entrance
	watches  *fairqueue.Queue
}

// newHealthGate returns a gate behind an entrance.
func newHealthGate(entrance *entrance) *healthGate {
	return &healthGate{entrance, fairqueue.New(fairqueue.Limits{Total: maxHealthWatches, PerKey: maxHealthWatchesOfNetwork})}
}

// admit implements connect.RequestGateFunc.
func (g *healthGate) admit(ctx context.Context, spec connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	c := callFrom(ctx)
	g.entrance.metrics.begin(c, spec)
	if !isStream(spec) {
		return ctx, nil
	}
	release, ok := g.watches.TryShare(c.network, 1)
	if !ok {
		err := error(&LimitError{
			Limit: LimitHealthWatches, Over: "too many watches of health are open, from your network or in all", Wait: refusedPatience,
		})
		g.entrance.metrics.limited(err)
		err = ConnectError(err)
		g.entrance.metrics.refused(spec, c, err)
		g.entrance.refuse(c)
		return nil, err
	}
	c.onEnd(release)
	c.dropHeaders()
	g.entrance.accept(c, spec)
	return ctx, nil
}
