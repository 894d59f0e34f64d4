package main

import (
	"encoding/binary"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// messages splits a body into messages. A message begins with a header, whose last four bytes are the
// length. The header of gRPC has five bytes, that of the API server's protobuf watches four.
type messages struct {
	head int
	each func([]byte) // must not retain the message
	rest []byte       // the beginning of an incomplete message
}

const (
	grpcHead = 5
	kubeHead = 4
)

// add adds the next piece of the body.
func (m *messages) add(data []byte) {
	if len(m.rest) > 0 {
		m.rest = append(m.rest, data...)
		data = m.rest
	}
	complete := m.cut(data)
	if complete > 0 || len(m.rest) == 0 {
		m.rest = append(m.rest[:0], data[complete:]...)
	}
}

// cut calls each with every complete message, and returns the number of bytes in them.
func (m *messages) cut(data []byte) (complete int) {
	for left := data; len(left) >= m.head; left = data[complete:] {
		end := m.head + int(binary.BigEndian.Uint32(left[m.head-4:]))
		if len(left) < end {
			break
		}
		m.each(left[m.head:end])
		complete += end
	}
	return complete
}

// tally counts what a stream has delivered.
type tally struct {
	bytes    atomic.Int64 // of bodies
	messages atomic.Int64
	changes  atomic.Int64 // events with an object
	synced   atomic.Int64 // complete snapshots
	token    atomic.Pointer[string]
}

// countWatchEvents counts the messages of a watch at the API server. Each is an event.
func (t *tally) countWatchEvents() func([]byte) {
	split := &messages{head: kubeHead, each: func([]byte) {
		t.messages.Add(1)
		t.changes.Add(1)
	}}
	return t.counting(split)
}

// countWatchResponses counts the messages of kubeconnect's Watch and the events in them.
func (t *tally) countWatchResponses() func([]byte) {
	return t.counting(&messages{head: grpcHead, each: t.countWatchResponse})
}

func (t *tally) counting(split *messages) func([]byte) {
	return func(data []byte) {
		t.bytes.Add(int64(len(data)))
		split.add(data)
	}
}

func (t *tally) countWatchResponse(message []byte) {
	t.messages.Add(1)
	eachField(message, func(number protowire.Number, value []byte) {
		switch number {
		case watchResponseEvents:
			t.countEvent(eventTypeOf(value))
		case watchResponseToken:
			token := string(value)
			t.token.Store(&token)
		}
	})
}

func (t *tally) countEvent(kind kubeconnectv1.EventType) {
	switch kind {
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
		kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		t.changes.Add(1)
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		t.synced.Add(1)
	}
}

// The numbers of the fields that are read.
var (
	watchResponseEvents = numberOf(&kubeconnectv1.WatchResponse{}, "events")
	watchResponseToken  = numberOf(&kubeconnectv1.WatchResponse{}, "resume_token")
	listResponseObjects = numberOf(&kubeconnectv1.ListResponse{}, "objects")
	listResponseToken   = numberOf(&kubeconnectv1.ListResponse{}, "next_page_token")
	eventType           = numberOf(&kubeconnectv1.Event{}, "type")
	eventVersion        = numberOf(&kubeconnectv1.Event{}, "resource_version")
)

// eachField visits the length-delimited fields of a message.
func eachField(message []byte, visit func(protowire.Number, []byte)) {
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return
		}
		message = message[length:]
		if length = protowire.ConsumeFieldValue(number, kind, message); length < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			visit(number, value)
		}
		message = message[length:]
	}
}

// eventTypeOf returns the type of an event, which is its first field.
func eventTypeOf(event []byte) kubeconnectv1.EventType {
	number, kind, length := protowire.ConsumeTag(event)
	if length < 0 || number != eventType || kind != protowire.VarintType {
		return kubeconnectv1.EventType_EVENT_TYPE_UNSPECIFIED
	}
	value, _ := protowire.ConsumeVarint(event[length:])
	return kubeconnectv1.EventType(value)
}
