package edge

import (
	"cmp"
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// keptShare is the memory of everything that is kept for open streams.
var keptShare = Share{Part: 4, Least: 64 << 20, Most: 1 << 30, Unlimited: 1 << 30}

// streamBytes is charged for each open stream.
const streamBytes = 32 << 10

// newKept returns the ledger of what is kept for open streams: of at most this number of bytes, or of
// keptShare if it is 0. Callers that cannot be distinguished have no limit but the total.
func newKept(bytes int, limits Limits, metrics *Metrics, usage *Usage) *ledger.Ledger {
	kept := ledger.New(ledger.Limits{Total: cmp.Or(bytes, int(keptShare.Bytes())), Undivided: limits == (Limits{})})
	metrics.AddLimited("kept_bytes", kept)
	usage.countKept(kept)
	return kept
}

// chargeRequests charges the callers of streams for their requests, which are kept while the streams are
// open, and ends the reservations of requests: see [gate.reserve].
type chargeRequests struct{ serverOnly }

// WrapUnary implements connect.Interceptor.
func (chargeRequests) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if c := callFrom(ctx); c != nil {
			defer c.requestDecoded()
		}
		return next(ctx, request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (chargeRequests) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		charge, _ := ledger.From(ctx).Charge(0) // nothing fits always
		defer charge.Release()
		decoded := func() {}
		if c := callFrom(ctx); c != nil {
			decoded = c.requestDecoded
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
		return c.charge.Resize(requestBytes(request))
	}
	return nil
}
