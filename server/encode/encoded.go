package encode

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// An object is encoded once, as the bytes of a kubeconnect.v1.Object, for all streams that send it.
// The bytes are put into a response as unknown fields: marshalling copies them unchanged, and
// readers parse them as the fields that they are.

// The numbers of the fields that are encoded here.
var (
	listResponseObjects = FieldNumber(&kubeconnectv1.ListResponse{}, "objects")
	objectNamespace     = FieldNumber(&kubeconnectv1.Object{}, "namespace")
	objectName          = FieldNumber(&kubeconnectv1.Object{}, "name")
	objectUID           = FieldNumber(&kubeconnectv1.Object{}, "uid")
	objectVersion       = FieldNumber(&kubeconnectv1.Object{}, "resource_version")
	objectStruct        = FieldNumber(&kubeconnectv1.Object{}, "struct")
	objectJSON          = FieldNumber(&kubeconnectv1.Object{}, "json")
	objectProtobuf      = FieldNumber(&kubeconnectv1.Object{}, "protobuf")
	objectError         = FieldNumber(&kubeconnectv1.Object{}, "error")
)

// MaxObjectBytes bounds the content of an object, so that it fits into a message of 4 MiB, the
// limit of gRPC clients: together with the rest of the message, and also in the JSON form of a
// message, where bytes are base64. The JSON form of a Struct has another length: it is the JSON of
// the object, whose escaped characters have no such bound.
const MaxObjectBytes = 11 << 18 // 2.75 MiB

// MaxPageBytes is the size at which a page ends. gRPC clients reject messages over 4 MiB.
const MaxPageBytes = 3 << 20

// objectHeadBytes estimates the size of an object's message without the content.
const objectHeadBytes = 192

// FieldNumber returns the number of a field of a message.
func FieldNumber(message proto.Message, name protoreflect.Name) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(name).Number()
}

// The encodings of an object's message.
var (
	structEncoding   = objectEncoding(0, kubeconnectv1.Encoding_ENCODING_STRUCT)
	jsonEncoding     = objectEncoding(1, kubeconnectv1.Encoding_ENCODING_JSON)
	protobufEncoding = objectEncoding(2, kubeconnectv1.Encoding_ENCODING_PROTOBUF)
)

func objectEncoding(slot int, encoding kubeconnectv1.Encoding) object.Encoding {
	return object.Encoding{Slot: slot, Encode: func(o *informerhub.Object) []byte { return encodeBytes(o, encoding) }}
}

// Bytes returns the bytes of an object's message. They may be shared and must not be modified.
func Bytes(object *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
	switch OrDefault(encoding) {
	case kubeconnectv1.Encoding_ENCODING_PROTOBUF:
		return object.Encoded(protobufEncoding)
	case kubeconnectv1.Encoding_ENCODING_JSON:
		return object.Encoded(jsonEncoding)
	}
	return object.Encoded(structEncoding)
}

// encodeBytes encodes the message for Bytes. If the content cannot be sent, the message contains an
// error in its place.
func encodeBytes(object *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
	if !object.HasContent() {
		return headObject(object)
	}
	if message, ok := object.Protobuf(); ok && encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF && len(message) <= MaxObjectBytes {
		return contentObject(object, objectProtobuf, message)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	number, content, err := s.contentOf(object, View{Encoding: encoding})
	if err != nil {
		return errorObject(object, err)
	}
	return contentObject(object, number, content)
}

// View is the form in which a caller requests objects.
type View struct {
	Encoding kubeconnectv1.Encoding
	Fields   *mask.Mask // nil for all fields
	Joined   int        // estimated bytes of the results of joins, for each object
	Messages bool       // the response contains decoded messages, and not their bytes
}

// contentOf returns the number and the bytes of the field with the content of an object's message.
// It uses another encoding than the requested one if the object has no form in it that can be sent.
// The error reports that the object cannot be decoded, or is too large to be sent.
func (s *scratch) contentOf(object *informerhub.Object, view View) (number protowire.Number, content []byte, err error) {
	if view.Encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF {
		var ok bool
		if s.content, ok = object.AppendMaskedProtobuf(s.content[:0], view.Fields); ok {
			return objectProtobuf, s.content, checkObjectSize(s.content)
		}
	}
	if s.text, err = object.AppendMaskedJSON(s.text[:0], view.Fields); err != nil {
		return 0, nil, err
	}
	if OrDefault(view.Encoding) == kubeconnectv1.Encoding_ENCODING_STRUCT && s.fitsStruct(s.text) {
		return objectStruct, s.content, nil
	}
	return objectJSON, s.text, checkObjectSize(s.text)
}

func checkObjectSize(content []byte) error {
	if len(content) <= MaxObjectBytes {
		return nil
	}
	return apierror.Failure(metav1.StatusReasonRequestEntityTooLarge,
		"the object is too large: %d bytes in this encoding, of at most %d: select some of its fields, or use ENCODING_PROTOBUF, "+
			"which is smaller for built-in kinds", len(content), MaxObjectBytes)
}

// scratch is a reusable buffer for encoding an object.
type scratch struct {
	text    []byte // JSON
	content []byte // a Struct
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch bounds each buffer that is kept for the next object.
const maxScratch = 64 << 10

func (s *scratch) release() {
	if cap(s.text) <= maxScratch && cap(s.content) <= maxScratch {
		scratches.Put(s)
	}
}

// contentObject returns the message of an object with its content in the given field.
func contentObject(object *informerhub.Object, number protowire.Number, content []byte) []byte {
	return appendContentObject(make([]byte, 0, contentObjectSize(object, number, content)), object, number, content)
}

// errorObject returns the message of an object with an error in the place of its content.
func errorObject(object *informerhub.Object, err error) []byte {
	status := ErrorStatus(metav1.StatusReasonInternalError, err)
	var failed apierrors.APIStatus
	if errors.As(err, &failed) {
		status = Status(failed.Status())
	}
	ValidUTF8(status)
	content, _ := proto.Marshal(status) // fails only for invalid UTF-8
	return contentObject(object, objectError, content)
}

// headObject returns the message of an object without content.
func headObject(object *informerhub.Object) []byte {
	return appendHead(nil, object)
}

func appendContentObject(dst []byte, object *informerhub.Object, number protowire.Number, content []byte) []byte {
	return AppendField(appendHead(dst, object), number, content)
}

func appendHead(dst []byte, object *informerhub.Object) []byte {
	for _, head := range headFields(object) {
		if head.value != "" {
			dst = protowire.AppendTag(dst, head.number, protowire.BytesType)
			dst = protowire.AppendString(dst, head.value)
		}
	}
	return dst
}

func contentObjectSize(object *informerhub.Object, number protowire.Number, content []byte) int {
	size := protowire.SizeTag(number) + protowire.SizeBytes(len(content))
	for _, head := range headFields(object) {
		if head.value != "" {
			size += protowire.SizeTag(head.number) + protowire.SizeBytes(len(head.value))
		}
	}
	return size
}

type headField struct {
	number protowire.Number
	value  string
}

func headFields(object *informerhub.Object) [4]headField {
	return [...]headField{
		{objectNamespace, object.Namespace()}, {objectName, object.Name()},
		{objectUID, object.UID()}, {objectVersion, object.ResourceVersion()},
	}
}

// AppendListed appends an object to a page, unless the page would exceed most bytes. joined are the
// results of joins, see [AppendJoined]. The API server's protobuf is copied directly into the page,
// because it is already encoded. So are selected fields of an object, because they are small and
// rarely shared by two requests.
func AppendListed(page []byte, object *informerhub.Object, joined []byte, view View, limit int) (longer []byte, ok bool) {
	if view.Fields != nil && object.HasContent() {
		return appendSome(page, object, joined, view, limit)
	}
	message, isProtobuf := object.Protobuf()
	if !isProtobuf || view.Encoding != kubeconnectv1.Encoding_ENCODING_PROTOBUF || len(message) > MaxObjectBytes {
		return appendEncoded(page, Bytes(object, view.Encoding), joined, limit)
	}
	return appendContent(page, object, objectProtobuf, message, joined, limit)
}

// appendSome appends selected fields of an object to a page.
func appendSome(page []byte, object *informerhub.Object, joined []byte, view View, limit int) (longer []byte, ok bool) {
	s := scratches.Get().(*scratch)
	defer s.release()
	number, content, err := s.contentOf(object, view)
	if err != nil {
		return appendEncoded(page, Bytes(object.Masked(view.Fields), view.Encoding), joined, limit)
	}
	return appendContent(page, object, number, content, joined, limit)
}

func appendEncoded(page, encoded, joined []byte, limit int) (longer []byte, ok bool) {
	page, ok = appendListedHead(page, len(encoded)+len(joined), limit)
	if !ok {
		return page, false
	}
	return append(append(page, encoded...), joined...), true
}

func appendContent(page []byte, object *informerhub.Object, number protowire.Number, content, joined []byte, limit int) (longer []byte, ok bool) {
	page, ok = appendListedHead(page, contentObjectSize(object, number, content)+len(joined), limit)
	if !ok {
		return page, false
	}
	return append(appendContentObject(page, object, number, content), joined...), true
}

// appendListedHead appends the tag and the size of an object's message to a page.
func appendListedHead(page []byte, size, limit int) (longer []byte, ok bool) {
	if len(page)+size > limit {
		return page, false
	}
	page = protowire.AppendTag(page, listResponseObjects, protowire.BytesType)
	return protowire.AppendVarint(page, uint64(size)), true
}

// Capacity estimates the size of objects in a page.
func (v View) Capacity(objects []*informerhub.Object) int {
	joined := v.Joined * len(objects)
	if v.Fields != nil {
		return min(2*objectHeadBytes*len(objects)+joined, MaxPageBytes)
	}
	return min(capacity(slices.Values(objects), MaxPageBytes)+joined, MaxPageBytes)
}

// Memory estimates the memory of a response with objects until it has been sent.
func (v View) Memory(objects []*informerhub.Object) int {
	// JSON and a Struct are longer than the objects in the cache.
	return v.copies() * min(2*v.Capacity(objects), MaxPageBytes)
}

// copies returns how many times the bytes of a page are in memory. The page, the encoded response
// and the compressed response exist at the same time. Decoded messages come in addition: a Struct
// takes about ten times its bytes, and JSON is another copy.
func (v View) copies() int {
	switch {
	case !v.Messages:
		return 3
	case OrDefault(v.Encoding) == kubeconnectv1.Encoding_ENCODING_STRUCT:
		return 13
	}
	return 6
}

// capacity estimates the size of objects in a response of at most most bytes, so that the buffer
// is not reallocated while it grows.
func capacity(objects iter.Seq[*informerhub.Object], limit int) int {
	capacity := 0
	for object := range objects {
		capacity += objectHeadBytes
		if object != nil {
			capacity += object.Size()
		}
		if capacity > limit {
			return limit
		}
	}
	return capacity
}

// AppendField appends a field of a message that has a length, such as bytes or a message.
func AppendField(dst []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), value)
}

// Set puts encoded fields into a message: as bytes, or decoded if the caller's codec needs
// messages.
func Set(message proto.Message, encoded []byte, messages bool) {
	if messages {
		_ = proto.UnmarshalOptions{Merge: true}.Unmarshal(encoded, message) // never fails: the bytes were encoded here
		return
	}
	message.ProtoReflect().SetUnknown(encoded)
}
