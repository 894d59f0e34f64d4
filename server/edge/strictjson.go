package edge

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// strictJSONNames are the names of JSON in content types, and those of connect's own codecs.
var strictJSONNames = []string{"json", "json; charset=utf-8"}

// useCodecs has requests decoded by boundedProto and strictJSON.
func useCodecs(spec connect.Spec) []connect.HandlerOption {
	bounds := decoder{maxValues: maxValuesOf(spec.Procedure), maxJSONValues: maxJSONValuesOf(spec.Procedure), unary: !isStream(spec)}
	options := []connect.HandlerOption{connect.WithCodec(boundedProto{bounds})}
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
	return &invalidRequestError{fmt.Sprintf("the JSON of the request is invalid: %s; use the fields of %s and the names of their enum values",
		reason, message.ProtoReflect().Descriptor().FullName())}
}

func notAMessage(message any) error { return fmt.Errorf("%T is not a protobuf message", message) }
