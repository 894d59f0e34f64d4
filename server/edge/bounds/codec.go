package bounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Options returns the options of a procedure: they bound the length of a request, both as it is sent and
// decompressed, and have it decoded by boundedProto and strictJSON. Requests of health can be of a newer version of
// its API.
func Options(spec connect.Spec) []connecthttp.Option {
	maxBytes := connecthttp.WithReadMaxBytes(int(MaxBytes(spec.Procedure)))
	if IsHealth(spec.Procedure) {
		return []connecthttp.Option{maxBytes}
	}
	return []connecthttp.Option{maxBytes, connecthttp.WithCodecs(
		boundedProto{connectproto.NewBinaryCodec(), maxValuesOf(spec.Procedure)},
		strictJSON{connectproto.NewJSONCodec(), maxJSONValuesOf(spec.Procedure)},
	)}
}

// InvalidRequestError reports that a request cannot be decoded. The codecs return it, and it is the cause of the
// error that connect returns.
type InvalidRequestError struct{ Message string }

func (e *InvalidRequestError) Error() string { return e.Message }

// boundedProto encodes and decodes messages as connect's own codec does, but rejects a request with too many
// values before it is decoded, and a request with a name that is too long.
type boundedProto struct {
	*connectproto.BinaryCodec
	maxValues int
}

// UnmarshalRead implements connect.Codec.
func (c boundedProto) UnmarshalRead(_ context.Context, src io.Reader, message any) error {
	return decode(src, message, func(data []byte, decoded proto.Message) error {
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

// strictJSON encodes messages as connect's own codec does, but rejects a request with an unknown
// member or an unknown name of an enum value: without a selector whose name is misspelled, a call
// would concern other objects.
type strictJSON struct {
	*connectproto.JSONCodec
	maxValues int
}

// UnmarshalRead implements connect.Codec.
func (c strictJSON) UnmarshalRead(_ context.Context, src io.Reader, message any) error {
	return decode(src, message, func(text []byte, decoded proto.Message) error {
		if err := boundValues(countJSONValues(text, c.maxValues), c.maxValues, "'{', '[' and ',' in its JSON"); err != nil {
			return err
		}
		return unmarshalStrictly(text, decoded)
	})
}

// decode has a request decoded, and rejects a request with names that are too long.
func decode(src io.Reader, message any, unmarshal func([]byte, proto.Message) error) error {
	decoded, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", message)
	}
	content, err := contentOf(src)
	if err != nil {
		return err
	}
	if err := unmarshal(content, decoded); err != nil {
		return err
	}
	return checkNames(decoded.ProtoReflect())
}

// contentOf returns the bytes of a message, without a copy if connect has them in a buffer. They are valid until
// the codec returns.
func contentOf(src io.Reader) ([]byte, error) {
	if buffer, ok := src.(*bytes.Buffer); ok {
		return buffer.Bytes(), nil
	}
	return io.ReadAll(src)
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
