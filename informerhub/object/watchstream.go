package object

import (
	"bufio"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watchBufferBytes is the size of the buffer of a watch.
const watchBufferBytes = 32 << 10

// bufferedFramer reads a watch through a buffer. After each read of 4 KiB or more, HTTP/2 writes to
// the API server how much it may send; without the buffer that is a write for nearly each object of a
// snapshot. A message that has arrived is returned without waiting for more.
type bufferedFramer struct{ runtime.Framer }

// NewFrameReader implements runtime.Framer.
func (f bufferedFramer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return f.Framer.NewFrameReader(bufferedBody{bufio.NewReaderSize(body, watchBufferBytes), body})
}

type bufferedBody struct {
	io.Reader
	io.Closer
}

// Numbers of the fields of metav1.WatchEvent and runtime.RawExtension.
const (
	watchEventType   = 1
	watchEventObject = 2
	rawExtensionRaw  = 1
)

// eventDecoder decodes the messages of a protobuf watch. The object of an event shares the memory of
// the message, where client-go's decoder copies it: client-go decodes the object before it reads the
// next message, and the objects of a [Codec] have their own memory.
type eventDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (d eventDecoder) Decode(
	message []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return d.Serializer.Decode(message, defaults, into)
	}
	var nested error
	err := eachField(message, func(f field) bool {
		switch f.number {
		case watchEventType:
			event.Type = string(f.bytes)
		case watchEventObject:
			nested = readRawExtension(f.bytes, &event.Object)
		}
		return nested == nil
	})
	return event, nil, errors.Join(err, nested)
}

// readRawExtension reads a runtime.RawExtension, whose content shares the memory of the message.
func readRawExtension(message []byte, into *runtime.RawExtension) error {
	return eachField(message, func(f field) bool {
		if f.number == rawExtensionRaw {
			into.Raw = f.bytes
		}
		return true
	})
}
