package gate

import (
	"cmp"
	"context"

	"connectrpc.com/connect/v2"
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

// ChargeRequests is the interceptor that charges the callers of streams for their requests, which are kept while
// the streams are open, and ends the reservations of requests: see [Gate.reserve].
func ChargeRequests(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		c := call.From(ctx)
		if !call.IsStream(spec) {
			defer c.Decoded()
			return next(ctx, spec, &reservingStream{stream, c})
		}
		charge, _ := ledger.From(ctx).Charge(0) // nothing fits always
		defer charge.Release()
		return next(ctx, spec, &chargingStream{stream, c, charge})
	}
}

// reservingStream is a unary call, whose request is no longer needed when the response is sent.
type reservingStream struct {
	connect.ServerStream
	call *call.Call
}

// Send implements connect.ServerStream.
func (s *reservingStream) Send(message any) error {
	s.call.Decoded()
	return s.ServerStream.Send(message)
}

// chargingStream charges for the message that was received last. It is owned by the goroutine of the handler, which receives.
// The interceptor releases the charge when the handler has returned.
type chargingStream struct {
	connect.ServerStream
	call   *call.Call
	charge *ledger.Charge
}

// Receive implements connect.ServerStream. The reservation of the request ends only after the charge has replaced it, so that
// the memory is counted at every time.
func (s *chargingStream) Receive(message any) error {
	if err := s.ServerStream.Receive(message); err != nil {
		return err
	}
	defer s.call.Decoded()
	if request, ok := message.(proto.Message); ok {
		return s.charge.Resize(bounds.ParsedRequestBytes(request))
	}
	return nil
}
