package server

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
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
	objectProtobuf      = fieldNumber(&kubeconnectv1.Object{}, "protobuf")
)

// objectHeadBytes is about what an object's message has beside the content.
const objectHeadBytes = 192

func fieldNumber(message proto.Message, name protoreflect.Name) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(name).Number()
}

// encodedObject is the bytes of an object's message. They may be shared: never
// change them.
func encodedObject(object *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
	if encoding == kubeconnectv1.Encoding_ENCODING_UNSPECIFIED {
		encoding = kubeconnectv1.Encoding_ENCODING_STRUCT
	}
	return object.Encoded(int(encoding), func(object *informerhub.Object) []byte {
		if message, ok := object.Protobuf(); ok && encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF {
			return protobufObject(object, message)
		}
		encoded, _ := proto.Marshal(encodeObject(object, encoding)) // only invalid UTF-8 fails
		return encoded
	})
}

// protobufObject is encodeObject for the encoding that is handed on as it is.
func protobufObject(object *informerhub.Object, message []byte) []byte {
	encoded := make([]byte, 0, objectHeadBytes+len(message))
	for _, head := range []struct {
		number protowire.Number
		value  string
	}{
		{objectNamespace, object.Namespace()}, {objectName, object.Name()},
		{objectUID, object.UID()}, {objectVersion, object.ResourceVersion()},
	} {
		if head.value != "" {
			encoded = protowire.AppendTag(encoded, head.number, protowire.BytesType)
			encoded = protowire.AppendString(encoded, head.value)
		}
	}
	return appendField(encoded, objectProtobuf, message)
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
