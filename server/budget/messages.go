package budget

import (
	"context"
	"math"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/joins"
)

// messageShare is the estimated memory of the messages that all streams send.
var messageShare = memorylimit.Share{Divisor: 32, Min: 16 << 20, Max: 128 << 20, Unlimited: 128 << 20}

const (
	// messagesDivisor limits the streams of one caller to a part of messageShare, and minCallerMessageBytes is the smallest
	// part.
	messagesDivisor       = 16
	minCallerMessageBytes = 4 << 20
	// freeMessageBytes is the size up to which a batch is not counted. So a caller with many unread
	// streams still receives small changes on its other streams.
	freeMessageBytes = 32 << 10
	// messageCopies is the number of copies of a message while it is sent: the encoded message, the
	// one in Connect's buffer, and the one that is written to the connection.
	messageCopies = 3
	// messageForms is the factor by which a message takes more memory if it is decoded to be sent
	// as JSON.
	messageForms = 16
	// builtForm is the factor by which a decoded message takes more memory than an encoded one, if it
	// has many small messages and strings.
	builtForm = 6
)

// NewMessageQueue returns the queue for the memory of messages that streams send. A stream reserves
// memory before it encodes a batch, and releases it when the client has read the batch. The number of
// waiting streams is not bounded here: there are no more of them than open streams.
func NewMessageQueue() *fairqueue.Queue {
	total := messageShare.Bytes()
	return fairqueue.New(fairqueue.Limits{Name: "stream memory", Total: total, PerKey: max(total/messagesDivisor, minCallerMessageBytes), Waiting: math.MaxInt})
}

// Messages is the memory for the messages of one caller's streams. It is a value, and safe for concurrent use.
//
// A stream reserves once for each batch, and never waits for more memory while it holds some. So two streams never wait
// for each other.
type Messages struct {
	Queue  *fairqueue.Queue // in bytes; shared by all callers
	Caller string           // see call.CallerKey
}

// Held is the memory that one stream has reserved for one batch. It is owned by the goroutine that sends the batch. Awaited
// can be called by another goroutine.
type Held struct {
	Release func()
	Awaited func() bool // whether others wait for it; nil if it is not counted
}

// Reserve blocks until memory to send a batch is reserved, with the bytes of joined objects. The
// caller must call Release.
func (m Messages) Reserve(ctx context.Context, batch informerhub.Batch, joined int, decoded bool) (Held, error) {
	return m.reserveBytes(ctx, messageBytes(batch, joined, decoded))
}

// ReserveMessage blocks until memory to send a message is reserved, like Reserve. The message is built
// in its decoded form, and has about the given number of bytes when it is encoded.
func (m Messages) ReserveMessage(ctx context.Context, bytes int, asJSON bool) (Held, error) {
	if asJSON {
		return m.reserveBytes(ctx, messageCopies*messageForms*bytes)
	}
	return m.reserveBytes(ctx, (messageCopies+builtForm)*bytes)
}

// reserveBytes reserves memory for a message. A size above the caller's part of the queue counts as that part, so that the
// largest message is sent alone, and not rejected.
func (m Messages) reserveBytes(ctx context.Context, size int) (Held, error) {
	if size <= freeMessageBytes {
		return Held{Release: func() {}}, nil
	}
	release, err := m.Queue.Acquire(ctx, m.Caller, int64(size))
	if err != nil {
		return Held{}, err
	}
	return Held{release, func() bool { return m.Queue.Delays(m.Caller) }}, nil
}

// messageBytes estimates the memory to send a batch: its objects, the joined objects, and one message. The objects count
// although a cache may have them too: the cache may drop them while the client does not read. A message has the largest
// event, or as many events as fit into encode.MaxEventsBytes, whichever is more.
func messageBytes(batch informerhub.Batch, joined int, decoded bool) int {
	objects, largest := batch.Sizes()
	objects += joined
	message := messageCopies * max(largest+min(joined, joins.MaxRowBytes), min(objects, encode.MaxEventsBytes))
	if decoded {
		message *= messageForms
	}
	return objects + message
}
