package server

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// An object is encoded once, as the bytes of a kubeconnect.v1.Object, for all the
// streams that send it. They are put into an answer as fields that the message has
// not parsed: marshalled, these are copied as they are, and whoever reads the answer
// finds the fields that they are.

// The numbers of the fields whose bytes are put together here.
var (
	listResponseObjects = fieldNumber(&kubeconnectv1.ListResponse{}, "objects")
	objectNamespace     = fieldNumber(&kubeconnectv1.Object{}, "namespace")
	objectName          = fieldNumber(&kubeconnectv1.Object{}, "name")
	objectUID           = fieldNumber(&kubeconnectv1.Object{}, "uid")
	objectVersion       = fieldNumber(&kubeconnectv1.Object{}, "resource_version")
	objectStruct        = fieldNumber(&kubeconnectv1.Object{}, "struct")
	objectJSON          = fieldNumber(&kubeconnectv1.Object{}, "json")
	objectProtobuf      = fieldNumber(&kubeconnectv1.Object{}, "protobuf")
	objectError         = fieldNumber(&kubeconnectv1.Object{}, "error")
)

// maxObjectBytes bounds the content of an object, so that it fits into a message of 4 MiB,
// the limit of gRPC clients: with everything that stands around it, and also in the JSON
// form of a message, where bytes are base64. A Struct is of another length in that form:
// it is the text of the object there, whose escaped characters have no such bound.
const maxObjectBytes = 11 << 18 // 2.75 MiB

// objectHeadBytes is about what an object's message has beside the content.
const objectHeadBytes = 192

func fieldNumber(message proto.Message, name protoreflect.Name) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(name).Number()
}

// encodedObject is the bytes of an object's message. They may be shared: never
// change them.
func encodedObject(object *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
	encoding = orDefault(encoding)
	return object.Encoded(int(encoding), func(object *informerhub.Object) []byte {
		return encodeBytes(object, encoding)
	})
}

// encodeBytes makes them. An object whose content cannot be sent has the error in its place.
func encodeBytes(object *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
	if !object.HasContent() {
		return headObject(object)
	}
	if message, ok := object.Protobuf(); ok && encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF && len(message) <= maxObjectBytes {
		return contentObject(object, objectProtobuf, message)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	number, content, err := s.contentOf(object, form{encoding: encoding})
	if err != nil {
		return errorObject(object, err)
	}
	return contentObject(object, number, content)
}

// form is how a caller wants objects: in an encoding, and some of their fields, or all; in an
// answer that is made of its messages, or of their bytes.
type form struct {
	encoding kubeconnectv1.Encoding
	fields   *mask.Mask
	messages bool
}

// contentOf makes the field of an object's message that its content is in, in another
// encoding than the one that was asked for where the object has no such form that can be
// sent. The error says that it cannot be read, or is too large to be sent.
func (s *scratch) contentOf(object *informerhub.Object, as form) (number protowire.Number, content []byte, err error) {
	if as.encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF {
		var ok bool
		if s.content, ok = object.AppendMaskedProtobuf(s.content[:0], as.fields); ok {
			return objectProtobuf, s.content, checkObjectSize(s.content)
		}
	}
	if s.text, err = object.AppendMaskedJSON(s.text[:0], as.fields); err != nil {
		return 0, nil, err
	}
	if orDefault(as.encoding) == kubeconnectv1.Encoding_ENCODING_STRUCT {
		var ok bool
		if s.content, ok = appendStruct(s.content[:0], s.text, maxObjectBytes); ok {
			return objectStruct, s.content, nil
		}
	}
	return objectJSON, s.text, checkObjectSize(s.text)
}

func checkObjectSize(content []byte) error {
	if len(content) <= maxObjectBytes {
		return nil
	}
	return failure(metav1.StatusReasonRequestEntityTooLarge,
		"the object has %d bytes in this encoding, and an answer takes %d: ask for some of its fields, or for ENCODING_PROTOBUF, "+
			"which is smaller for built-in kinds", len(content), maxObjectBytes)
}

// scratch holds what an object's bytes are made of, on the way.
type scratch struct {
	text    []byte // JSON
	content []byte // a Struct
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is how many bytes of either are kept for the next object.
const maxScratch = 64 << 10

func (s *scratch) release() {
	if cap(s.text) <= maxScratch && cap(s.content) <= maxScratch {
		scratches.Put(s)
	}
}

// contentObject is the message of an object, whose content is in a field of its own.
func contentObject(object *informerhub.Object, number protowire.Number, content []byte) []byte {
	return appendContentObject(make([]byte, 0, contentObjectSize(object, number, content)), object, number, content)
}

// errorObject is the message of an object with an error in the place of its content.
func errorObject(object *informerhub.Object, err error) []byte {
	_, status := classify(err)
	if status == nil {
		status = ownStatus(metav1.StatusReasonInternalError, err)
	}
	validUTF8(status)
	content, _ := proto.Marshal(status) // only invalid UTF-8 fails
	return contentObject(object, objectError, content)
}

// headObject is the message of an object without content.
func headObject(object *informerhub.Object) []byte {
	return appendHead(nil, object)
}

func appendContentObject(to []byte, object *informerhub.Object, number protowire.Number, content []byte) []byte {
	return appendField(appendHead(to, object), number, content)
}

func appendHead(to []byte, object *informerhub.Object) []byte {
	for _, head := range headFields(object) {
		if head.value != "" {
			to = protowire.AppendTag(to, head.number, protowire.BytesType)
			to = protowire.AppendString(to, head.value)
		}
	}
	return to
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

// appendListed adds an object to a page, unless it makes the page longer than it may be.
// The API server's protobuf goes straight there, for it is as good as encoded, and so do
// some fields of an object, for they are small, and seldom asked for by two.
func appendListed(page []byte, object *informerhub.Object, as form, most int) (longer []byte, ok bool) {
	if as.fields != nil && object.HasContent() {
		return appendSome(page, object, as, most)
	}
	message, isProtobuf := object.Protobuf()
	if !isProtobuf || as.encoding != kubeconnectv1.Encoding_ENCODING_PROTOBUF || len(message) > maxObjectBytes {
		return appendEncoded(page, encodedObject(object, as.encoding), most)
	}
	return appendContent(page, object, objectProtobuf, message, most)
}

// appendSome adds some fields of an object to a page.
func appendSome(page []byte, object *informerhub.Object, as form, most int) (longer []byte, ok bool) {
	s := scratches.Get().(*scratch)
	defer s.release()
	number, content, err := s.contentOf(object, as)
	if err != nil {
		return appendEncoded(page, encodedObject(object.Masked(as.fields), as.encoding), most)
	}
	return appendContent(page, object, number, content, most)
}

func appendEncoded(page, encoded []byte, most int) (longer []byte, ok bool) {
	if len(page)+len(encoded) > most {
		return page, false
	}
	return appendField(page, listResponseObjects, encoded), true
}

func appendContent(page []byte, object *informerhub.Object, number protowire.Number, content []byte, most int) (longer []byte, ok bool) {
	size := contentObjectSize(object, number, content)
	if len(page)+size > most {
		return page, false
	}
	page = protowire.AppendTag(page, listResponseObjects, protowire.BytesType)
	page = protowire.AppendVarint(page, uint64(size))
	return appendContentObject(page, object, number, content), true
}

// capacityFor is about what objects will take in a page.
func (f form) capacityFor(objects []*informerhub.Object) int {
	if f.fields != nil {
		return min(2*objectHeadBytes*len(objects), maxPageBytes)
	}
	return capacityFor(slices.Values(objects), maxPageBytes)
}

// memoryFor is about what an answer with some objects takes in memory until it has been sent.
func (f form) memoryFor(objects []*informerhub.Object) int {
	// JSON and a Struct are longer than the objects may be here.
	return f.copies() * min(2*f.capacityFor(objects), maxPageBytes)
}

// copies is how many times the bytes of a page an answer takes in memory. The page, the encoded
// answer and the compressed one exist at the same time. Messages come in addition: a Struct takes
// about ten times its bytes, and a text in JSON is another copy.
func (f form) copies() int {
	switch {
	case !f.messages:
		return 3
	case orDefault(f.encoding) == kubeconnectv1.Encoding_ENCODING_STRUCT:
		return 13
	}
	return 6
}

// capacityFor is about what objects will take in an answer, of no more than most bytes,
// so that it need not be moved while it grows.
func capacityFor(objects iter.Seq[*informerhub.Object], most int) int {
	capacity := 0
	for object := range objects {
		capacity += objectHeadBytes
		if object != nil {
			capacity += object.Size()
		}
		if capacity > most {
			return most
		}
	}
	return capacity
}

func appendField(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

// setEncoded puts encoded fields into a message: as they are, or as messages where
// the caller's codec needs these.
func setEncoded(message proto.Message, encoded []byte, messages bool) {
	if messages {
		_ = proto.UnmarshalOptions{Merge: true}.Unmarshal(encoded, message) // our own bytes
		return
	}
	message.ProtoReflect().SetUnknown(encoded)
}

// wantsMessages reports whether a call's answers are sent in another form than
// protobuf's bytes.
func wantsMessages(ctx context.Context) bool {
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return true
	}
	contentType := call.RequestHeader().Get("Content-Type")
	return contentType == "" || strings.Contains(contentType, "json")
}
