package simulate

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The types of events.
const (
	eventAdded    = "ADDED"
	eventModified = "MODIFIED"
	eventDeleted  = "DELETED"
	eventBookmark = "BOOKMARK"
	eventError    = "ERROR"
)

// encoding writes lists and watches as an API server does.
type encoding interface {
	// contentType is the media type of a list, and of a watch.
	contentType(watch bool) string
	// item returns an object as an item of a list.
	item(object encodable) ([]byte, error)
	// listHead returns all of a list before its items, and listTail all after them. Each of the
	// items has the given size.
	listHead(kind schema.GroupVersionKind, meta metav1.ListMeta, items, size int) ([]byte, error)
	listTail() []byte
	// separator is the text between two items.
	separator() string
	// event returns the message of a watch.
	event(kind string, object encodable, as schema.GroupVersionKind) ([]byte, error)
}

// protobufEncoding is application/vnd.kubernetes.protobuf.
type protobufEncoding struct{}

// protobufMagic precedes each object that is not part of another one.
const protobufMagic = "k8s\x00"

// The numbers of fields. Source: generated.proto of k8s.io/apimachinery/pkg/runtime,
// k8s.io/apimachinery/pkg/apis/meta/v1 and k8s.io/api/core/v1.
const (
	unknownTypeMeta        protowire.Number = 1
	unknownRaw             protowire.Number = 2
	unknownContentEncoding protowire.Number = 3
	unknownContentType     protowire.Number = 4
	listMeta               protowire.Number = 1
	listItems              protowire.Number = 2
)

func (protobufEncoding) contentType(watch bool) string {
	if watch {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeProtobuf
}

func (protobufEncoding) item(object encodable) ([]byte, error) {
	message, err := object.Marshal()
	return appendBytes(nil, listItems, message), err
}

func (protobufEncoding) listHead(
	kind schema.GroupVersionKind, meta metav1.ListMeta, items, size int,
) ([]byte, error) {
	message, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	message = appendBytes(nil, listMeta, message)
	head, err := envelopeHead(kind, len(message)+items*size)
	return append(head, message...), err
}

// envelopeHead returns all of a runtime.Unknown before the message of an object.
func envelopeHead(kind schema.GroupVersionKind, size int) ([]byte, error) {
	meta := runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
	encoded, err := meta.Marshal()
	head := appendBytes([]byte(protobufMagic), unknownTypeMeta, encoded)
	head = protowire.AppendTag(head, unknownRaw, protowire.BytesType)
	return protowire.AppendVarint(head, uint64(size)), err
}

func (protobufEncoding) listTail() []byte {
	return appendBytes(appendBytes(nil, unknownContentEncoding, nil), unknownContentType, nil)
}

func (protobufEncoding) separator() string { return "" }

func (e protobufEncoding) event(kind string, object encodable, as schema.GroupVersionKind) ([]byte, error) {
	message, err := object.Marshal()
	if err != nil {
		return nil, err
	}
	raw, err := envelopeHead(as, len(message))
	if err != nil {
		return nil, err
	}
	raw = append(append(raw, message...), e.listTail()...)
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}
	encoded, err := event.Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(encoded))), encoded...), err
}

func appendBytes(message []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(message, number, protowire.BytesType), value)
}

// jsonEncoding is application/json.
type jsonEncoding struct{}

func (jsonEncoding) contentType(bool) string { return runtime.ContentTypeJSON }

func (jsonEncoding) item(object encodable) ([]byte, error) { return json.Marshal(object) }

func (jsonEncoding) listHead(kind schema.GroupVersionKind, meta metav1.ListMeta, _, _ int) ([]byte, error) {
	text, err := json.Marshal(meta)
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`,
		kind.Kind, kind.GroupVersion(), text), err
}

func (jsonEncoding) listTail() []byte { return []byte("]}\n") }

func (jsonEncoding) separator() string { return "," }

func (jsonEncoding) event(kind string, object encodable, as schema.GroupVersionKind) ([]byte, error) {
	object.GetObjectKind().SetGroupVersionKind(as)
	defer object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	text, err := json.Marshal(object)
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, text), err
}
