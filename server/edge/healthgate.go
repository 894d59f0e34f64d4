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

func newHealthWatches() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxHealthWatches, PerKey: maxHealthWatchesOfNetwork})
}

// healthGate admits the calls of grpc.health.v1.Health.
type healthGate struct {
	entrance *entrance
	metrics  *Metrics
	watches  *fairqueue.Queue
}

// admit implements connect.RequestGateFunc.
func (g *healthGate) admit(ctx context.Context, spec connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	c := callFrom(ctx)
	g.metrics.begin(c, spec)
	if !isStream(spec) {
		return ctx, nil
	}
	release, ok := g.watches.TryShare(c.network, 1)
	if !ok {
		err := error(&LimitError{
			Limit: LimitHealthWatches, Over: "too many watches of health are open, from your network or in all", Wait: refusedPatience,
		})
		g.metrics.limited(err)
		err = ConnectError(err)
		g.metrics.refused(spec, c, err)
		g.entrance.refuse(c)
		return nil, err
	}
	c.onEnd(release)
	c.dropHeaders()
	g.entrance.accept(c, spec)
	return ctx, nil
}
