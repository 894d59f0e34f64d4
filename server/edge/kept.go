package edge

import (
	"cmp"
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
)

// keptShare is the memory of everything that is kept for open streams.
var keptShare = Share{Part: 4, Least: 64 << 20, Most: 1 << 30, Unlimited: 1 << 30}

const (
	// streamBytes is charged for each open stream.
	streamBytes = 32 << 10
	// textGrowth is the factor by which a request takes more memory, decoded and parsed, than as it is sent, and
	// valueBytes the memory for each value of a list in it, such as a path or a value of a selector: an entry of a
	// set and what refers to it.
	textGrowth = 12
	valueBytes = 384
)

// newKept returns the ledger of a chain. Callers that cannot be distinguished have no limit but the
// total.
func newKept(config ChainConfig) *ledger.Ledger {
	kept := ledger.New(ledger.Limits{Total: cmp.Or(config.KeptBytes, int(keptShare.Bytes())), Undivided: config.Limits == (Limits{})})
	config.Metrics.queues.add("kept_bytes", kept)
	config.Usage.countKept(kept)
	return kept
}

// ParsedBytes estimates the memory of a text in the form of a field that is kept in its parsed form, such as a
// selector.
func ParsedBytes(text string) int {
	return textGrowth*len(text) + valueBytes*strings.Count(text, ",")
}

// requestBytes estimates the memory of a request that is kept in its parsed form.
func requestBytes(request proto.Message) int {
	return textGrowth*proto.Size(request) + valueBytes*valuesIn(request.ProtoReflect())
}

// valuesIn returns the number of values of all lists in a message: of its repeated fields, and of texts that are
// lists.
func valuesIn(message protoreflect.Message) (values int) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList():
			list := value.List()
			values += list.Len()
			for i := 0; i < list.Len() && mayHaveValues(field.Message()); i++ {
				values += valuesIn(list.Get(i).Message())
			}
		case field.Kind() == protoreflect.StringKind:
			values += strings.Count(value.String(), ",")
		case field.Message() != nil && !field.IsMap():
			values += valuesIn(value.Message())
		}
		return true
	})
	return values
}

// mayHaveValues reports whether messages have lists. A request has thousands of messages with only names, numbers and
// times, such as positions of logs, and to read them takes longer than to decode them.
func mayHaveValues(message protoreflect.MessageDescriptor) bool {
	for i := 0; message != nil && i < message.Fields().Len(); i++ {
		field := message.Fields().Get(i)
		_, isName := maxNames[field.Name()]
		switch {
		case field.Cardinality() == protoreflect.Repeated, field.Kind() == protoreflect.StringKind && !isName:
			return true
		case field.Message() != nil && field.Message().FullName() != "google.protobuf.Timestamp":
			return true
		}
	}
	return false
}

// chargeRequests charges the callers of streams for their requests, which are kept while the streams are
// open, and ends the reservations of requests: see [gate.reserve].
type chargeRequests struct{ serverOnly }

// WrapUnary implements connect.Interceptor.
func (chargeRequests) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if c, ok := ctx.Value(callKey{}).(*call); ok {
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
		if c, ok := ctx.Value(callKey{}).(*call); ok {
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

// streamsPause is the shortest retry time of a caller whose open streams are over a limit. They release memory
// when they end, and what they have used for changes is paid by then.
const streamsPause = 5 * time.Second
