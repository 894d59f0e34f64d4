package server

import (
	"context"
	"math"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxSendMemory is about how much memory all streams hold for what they are sending, and
	// maxCallerSendMemory how much those of one caller do.
	maxSendMemory       = 128 << 20
	maxCallerSendMemory = 8 << 20
	// freeSendMemory is how much a batch may take without being counted. So a caller of whose
	// streams many are not read still gets small changes on the others.
	freeSendMemory = 32 << 10
	// messageCopies is how many copies of a message there are while it is sent: encoded, in
	// Connect's buffer, and on its way to the connection.
	messageCopies = 3
	// messageForms is how much more memory a message takes where it is decoded to be sent as
	// JSON.
	messageForms = 16
)

// newSendMemory returns the memory for what streams send. A stream holds some from before it
// encodes a batch until the client has read it.
func newSendMemory() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxSendMemory, PerKey: maxCallerSendMemory, Waiting: math.MaxInt})
}

// sendMemory is the memory for what the streams of one caller send.
type sendMemory struct {
	queue  *fairqueue.Queue
	caller string
}

// heldMemory is what one stream holds of that.
type heldMemory struct {
	release func()
	awaited func() bool // whether others wait for it; nil if it is not counted
}

// hold blocks until there is memory to send a batch. The caller must call release.
func (m sendMemory) hold(ctx context.Context, batch informerhub.Batch, decoded bool) (heldMemory, error) {
	size := sendSize(batch, decoded)
	if size <= freeSendMemory {
		return heldMemory{release: func() {}}, nil
	}
	release, err := m.queue.Acquire(ctx, m.caller, int64(size))
	if err != nil {
		return heldMemory{}, err
	}
	return heldMemory{release, func() bool { return m.queue.Delays(m.caller) }}, nil
}

// sendSize is about how much memory it takes to send a batch: its objects, and one message.
func sendSize(batch informerhub.Batch, decoded bool) int {
	objects, largest := batch.Sizes()
	message := messageCopies * max(largest, min(objects, maxEventsBytes))
	if decoded {
		message *= messageForms
	}
	return objects + message
}
