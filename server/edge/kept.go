package edge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// keptShare is the memory of everything that is kept for open streams.
var keptShare = Share{Part: 4, Least: 64 << 20, Most: 1 << 30, Unlimited: 1 << 30}

const (
	// streamBytes is charged for each open stream.
	streamBytes = 32 << 10
	// textGrowth is the factor by which a request takes more memory, decoded and parsed, than as it is sent, and
	// valueBytes the memory for each value of a list in it, such as those of a selector: an entry of a set and what
	// refers to it.
	textGrowth = 12
	valueBytes = 256
)

// newKept returns the ledger of a chain. Callers that cannot be distinguished have no limit but the
// total.
func newKept(config ChainConfig) *ledger.Ledger {
	kept := ledger.New(ledger.Limits{Total: cmp.Or(config.KeptBytes, int(keptShare.Bytes())), Undivided: config.Limits == (Limits{})})
	config.Metrics.queues.add("kept_bytes", kept)
	config.Usage.countKept(kept)
	return kept
}

// ParsedBytes estimates the memory of a text of a request, or of a request, that is kept in its parsed form.
func ParsedBytes(text []byte) int {
	return textGrowth*len(text) + valueBytes*bytes.Count(text, []byte(","))
}

// chargeRequests charges the callers of streams for their requests, which are kept while the streams are
// open.
type chargeRequests struct{ serverOnly }

// WrapUnary implements connect.Interceptor.
func (chargeRequests) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (chargeRequests) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		charge, _ := ledger.From(ctx).Charge(0) // nothing fits always
		defer charge.Release()
		return next(ctx, chargingConn{conn, charge})
	}
}

// chargingConn charges for the message that was received last.
type chargingConn struct {
	connect.StreamingHandlerConn
	charge *ledger.Charge
}

// Receive implements connect.StreamingHandlerConn.
func (c chargingConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	request, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	text, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	return c.charge.Resize(ParsedBytes(text))
}

// keptPause is the shortest retry time of a caller over the limit. Its streams release memory when they end.
const keptPause = 5 * time.Second

// keptError returns an error of a ledger as a *LimitError, and others as they are.
func keptError(err error) error {
	if errors.Is(err, ledger.ErrFull) {
		return &LimitError{Limit: LimitKeptMemory, Over: err.Error(), Wait: keptPause + rand.N(keptPause)}
	}
	return err
}
