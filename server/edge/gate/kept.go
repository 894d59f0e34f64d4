package gate

import (
	"cmp"
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

// keptShare is the memory of everything that is kept for open streams.
var keptShare = memorylimit.Share{Divisor: 4, Min: 64 << 20, Max: 1 << 30, Unlimited: 1 << 30}

// streamBytes is charged for each open stream.
const streamBytes = 32 << 10

// NewKept returns the ledger of what is kept for open streams: of at most this number of bytes, or of
// keptShare if it is 0. Callers that cannot be distinguished have no limit but the total.
func NewKept(bytes int, limits Limits, metrics *observe.Metrics, usage *observe.Usage) *ledger.Ledger {
	kept := ledger.New(ledger.Limits{Total: cmp.Or(bytes, int(keptShare.Bytes())), Undivided: limits == (Limits{})})
	metrics.AddLimited("kept_bytes", kept)
	usage.CountKept(kept)
	return kept
}

// ChargeRequests charges the callers of streams for their requests, which are kept while the streams are
// open, and ends the reservations of requests: see [Gate.reserve].
type ChargeRequests struct{ call.ServerOnly }

// WrapUnary implements connect.Interceptor.
func (ChargeRequests) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if c := call.From(ctx); c != nil {
			defer c.Decoded()
		}
		return next(ctx, request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (ChargeRequests) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		charge, _ := ledger.From(ctx).Charge(0) // nothing fits always
		defer charge.Release()
		decoded := func() {}
		if c := call.From(ctx); c != nil {
			decoded = c.Decoded
		}
		return next(ctx, chargingConn{conn, charge, decoded})
	}
}

// chargingConn charges for the message that was received last.
type chargingConn struct {
	connect.StreamingHandlerConn
	charge  *ledger.Charge
	decoded func()
}

// Receive implements connect.StreamingHandlerConn.
func (c chargingConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	defer c.decoded()
	if request, ok := message.(proto.Message); ok {
		return c.charge.Resize(bounds.ParsedRequestBytes(request))
	}
	return nil
}
