package bounds

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// decoder is what the codecs of requests have in common. It requires the interceptor mapErrors.
type decoder struct {
	maxValues, maxJSONValues int
	unary                    bool // for a procedure that is not a stream
}

// decode decodes a request, and rejects a request with names that are too long. connect returns the
// error of a codec for a unary call without calling an interceptor, and therefore without a Status.
// For such a call, an [InvalidRequestError] is put into the message instead; see RequestError.
func (d decoder) decode(message any, unmarshal func(proto.Message) error) error {
	decoded, ok := message.(proto.Message)
	if !ok {
		return notAMessage(message)
	}
	err := unmarshal(decoded)
	if err == nil {
		err = checkNames(decoded.ProtoReflect())
	}
	var invalid *InvalidRequestError
	if !d.unary || !errors.As(err, &invalid) {
		return err
	}
	proto.Reset(decoded)
	marker := protowire.AppendTag(nil, invalidRequestField, protowire.BytesType)
	decoded.ProtoReflect().SetUnknown(protowire.AppendString(marker, invalid.Message))
	return nil
}

// boundedProto encodes and decodes messages as connect's own codec does, but rejects a request with
// too many values before it is decoded.
type boundedProto struct{ decoder }

// Name implements connect.Codec.
func (boundedProto) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (c boundedProto) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends a message to dst. connect prefers it to Marshal.
func (boundedProto) MarshalAppend(dst []byte, message any) ([]byte, error) {
	decoded, ok := message.(proto.Message)
	if !ok {
		return nil, notAMessage(message)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, decoded)
}

// Unmarshal implements connect.Codec.
func (c boundedProto) Unmarshal(data []byte, message any) error {
	return c.decode(message, func(decoded proto.Message) error {
		values := countValues(data, decoded.ProtoReflect().Descriptor(), c.maxValues)
		if err := boundValues(values, c.maxValues, "messages, elements of lists and entries of maps"); err != nil {
			return err
		}
		if err := proto.Unmarshal(data, decoded); err != nil {
			return fmt.Errorf("unmarshal into %T: %w", message, err)
		}
		return nil
	})
}

// InvalidRequestError reports that a request cannot be decoded.
type InvalidRequestError struct{ Message string }

func (e *InvalidRequestError) Error() string { return e.Message }

// invalidRequestField is the number of the unknown field in which a message carries the error of its
// request. Numbers of this range are reserved for protobuf implementations. A client that sends it is
// rejected with its own text.
const invalidRequestField = 19_999

// RequestError returns the error of a unary request that could not be decoded, or nil.
func RequestError(request connect.AnyRequest) error {
	message, ok := request.Any().(proto.Message)
	if !ok {
		return nil
	}
	unknown := message.ProtoReflect().GetUnknown()
	number, kind, length := protowire.ConsumeTag(unknown)
	if number != invalidRequestField || kind != protowire.BytesType {
		return nil
	}
	text, _ := protowire.ConsumeString(unknown[length:])
	return &InvalidRequestError{text}
}

// strictJSONNames are the names of JSON in content types, and those of connect's own codecs.
var strictJSONNames = []string{"json", "json; charset=utf-8"}

// Options returns the options of a procedure: they bound the length of a request, both as it is sent and
// decompressed, and have it decoded by boundedProto and strictJSON.
func Options(spec connect.Spec) []connect.HandlerOption {
	bounds := decoder{maxValues: maxValuesOf(spec.Procedure), maxJSONValues: maxJSONValuesOf(spec.Procedure), unary: spec.StreamType == connect.StreamTypeUnary}
	options := []connect.HandlerOption{connect.WithReadMaxBytes(int(MaxBytes(spec.Procedure))), connect.WithCodec(boundedProto{bounds})}
	for _, name := range strictJSONNames {
		options = append(options, connect.WithCodec(strictJSON{name, bounds}))
	}
	return options
}

// strictJSON encodes messages as connect's own codec does, but rejects a request with an unknown
// member or an unknown name of an enum value: without a selector whose name is misspelled, a call
// would concern other objects. It requires the interceptor mapErrors.
type strictJSON struct {
	name string
	decoder
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

// Unmarshal implements connect.Codec.
func (c strictJSON) Unmarshal(text []byte, message any) error {
	return c.decode(message, func(decoded proto.Message) error {
		if err := boundValues(countJSONValues(text, c.maxJSONValues), c.maxJSONValues, "'{', '[' and ',' in its JSON"); err != nil {
			return err
		}
		return unmarshalStrictly(text, decoded)
	})
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
	return &InvalidRequestError{fmt.Sprintf("the JSON of the request is invalid: %s; use the fields of %s and the names of their enum values",
		reason, message.ProtoReflect().Descriptor().FullName())}
}

func notAMessage(message any) error { return fmt.Errorf("%T is not a protobuf message", message) }
