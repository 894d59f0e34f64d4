package edge

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// strictJSONNames are the names of JSON in content types, and those of connect's own codecs.
var strictJSONNames = []string{"json", "json; charset=utf-8"}

// useStrictJSON has requests in JSON decoded by strictJSON.
func useStrictJSON(spec connect.Spec) (options []connect.HandlerOption) {
	for _, name := range strictJSONNames {
		options = append(options, connect.WithCodec(strictJSON{name, !isStream(spec)}))
	}
	return options
}

// strictJSON encodes messages as connect's own codec does, but rejects a request with an unknown
// member or an unknown name of an enum value: without a selector whose name is misspelled, a call
// would concern other objects. It requires the interceptor mapErrors.
type strictJSON struct {
	name  string
	unary bool // for a procedure that is not a stream
}

// Name implements connect.Codec.
func (c strictJSON) Name() string { return c.name }

// Marshal implements connect.Codec.
func (c strictJSON) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends a message to dst. connect prefers it to Marshal.
func (strictJSON) MarshalAppend(dst []byte, message any) ([]byte, error) {
	decoded, ok := message.(proto.Message)
	if !ok {
		return nil, notAMessage(message)
	}
	return protojson.MarshalOptions{}.MarshalAppend(dst, decoded)
}

// Unmarshal implements connect.Codec. connect returns its error for a unary call without calling an
// interceptor, and therefore without a Status. For such a call, the error is put into the message
// instead; see invalidJSONOf.
func (c strictJSON) Unmarshal(text []byte, message any) error {
	decoded, ok := message.(proto.Message)
	if !ok {
		return notAMessage(message)
	}
	err := unmarshalStrictly(text, decoded)
	if err == nil || !c.unary {
		return err
	}
	proto.Reset(decoded)
	marker := protowire.AppendTag(nil, invalidJSONField, protowire.BytesType)
	decoded.ProtoReflect().SetUnknown(protowire.AppendString(marker, err.Error()))
	return nil
}

func unmarshalStrictly(text []byte, message proto.Message) error {
	err := errors.New("it is empty")
	if len(text) > 0 {
		err = protojson.Unmarshal(text, message)
	}
	if err == nil {
		return nil
	}
	// protobuf writes a space or a non-breaking space, so that programs do not depend on its texts.
	reason := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	return &invalidJSONError{fmt.Sprintf("the JSON of the request is invalid: %s; use the fields of %s and the names of their enum values",
		reason, message.ProtoReflect().Descriptor().FullName())}
}

func notAMessage(message any) error { return fmt.Errorf("%T is not a protobuf message", message) }

// invalidJSONError reports that the JSON of a request cannot be decoded.
type invalidJSONError struct{ message string }

func (e *invalidJSONError) Error() string { return e.message }

// invalidJSONField is the number of the unknown field in which a message carries the error of its
// JSON. Numbers of this range are reserved for protobuf implementations. A client that sends it is
// rejected with its own text.
const invalidJSONField = 19_999

// invalidJSONOf returns the error of a unary request that could not be decoded, or nil.
func invalidJSONOf(request connect.AnyRequest) error {
	message, ok := request.Any().(proto.Message)
	if !ok {
		return nil
	}
	unknown := message.ProtoReflect().GetUnknown()
	number, kind, length := protowire.ConsumeTag(unknown)
	if number != invalidJSONField || kind != protowire.BytesType {
		return nil
	}
	text, _ := protowire.ConsumeString(unknown[length:])
	return &invalidJSONError{text}
}
