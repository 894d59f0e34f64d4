package bounds

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// A value of a request is a message in it, an element of a list or an entry of a map. A value of 2
// bytes can take hundreds of bytes when it is decoded. Therefore values are counted before.
const (
	// maxValues bounds the values of a request: it is above the 4,096 positions of GetLogLines.
	maxValues = 16_384
	// maxWatchManyValues bounds those of WatchMany: it is above 100 watches with 8 joins and 256
	// paths each.
	maxWatchManyValues = 32_768
	// maxManifestValues bounds those of a request with a manifest.
	maxManifestValues = 131_072
)

// maxValuesOf returns the maximum number of values of a request of a procedure.
func maxValuesOf(procedure string) int {
	switch {
	case hasManifest(procedure):
		return maxManifestValues
	case procedure == kubeconnectv1connect.ResourceServiceWatchManyProcedure:
		return maxWatchManyValues
	}
	return maxValues
}

// maxJSONValuesOf returns the maximum result of countJSONValues, which also counts the fields of
// messages.
func maxJSONValuesOf(procedure string) int {
	if hasManifest(procedure) {
		return maxManifestValues
	}
	return 2 * maxValuesOf(procedure)
}

func boundValues(values, limit int, what string) error {
	if values <= limit {
		return nil
	}
	return &InvalidRequestError{fmt.Sprintf("the request has too many values: it can have %d %s", limit, what)}
}

// CheckJSONValues rejects JSON in a field of a request if it would have too many values when it is decoded.
func CheckJSONValues(field string, text []byte) error {
	if countJSONValues(text, maxManifestValues) > maxManifestValues {
		return apierror.BadRequest("%s has too many values: it can have %d", field, maxManifestValues)
	}
	return nil
}

// countValues returns the number of values in an encoded message, or a number above limit if there
// are more. Fields that are repeated although they are not lists, and the same key of a map, count each
// time. An invalid message is counted up to its first error.
func countValues(data []byte, message protoreflect.MessageDescriptor, limit int) int {
	counter := valueCounter{limit: limit}
	counter.message(data, message, protowire.DefaultRecursionLimit)
	return counter.values
}

type valueCounter struct{ values, limit int }

// message counts the values in a message. A message that is nested more than depth times is above
// the limit.
func (c *valueCounter) message(data []byte, message protoreflect.MessageDescriptor, depth int) {
	if depth == 0 {
		c.values = c.limit + 1
	}
	fields := message.Fields()
	for len(data) > 0 && c.values <= c.limit {
		number, kind, length := protowire.ConsumeTag(data)
		if length < 0 {
			return
		}
		data = data[length:]
		if length = protowire.ConsumeFieldValue(number, kind, data); length < 0 {
			return
		}
		if field := fields.ByNumber(number); field != nil {
			c.field(data[:length], field, kind, depth)
		}
		data = data[length:]
	}
}

func (c *valueCounter) field(value []byte, field protoreflect.FieldDescriptor, kind protowire.Type, depth int) {
	switch {
	case field.Message() != nil && kind == protowire.BytesType:
		content, _ := protowire.ConsumeBytes(value)
		c.values++
		before := c.values
		c.message(content, field.Message(), depth-1)
		if field.IsMap() && field.MapValue().Message() != nil && c.values == before {
			c.values++ // an entry without a value gets an empty message
		}
	case !field.IsList():
	case kind == protowire.BytesType:
		content, _ := protowire.ConsumeBytes(value)
		c.values += elements(content, field.Kind())
	default:
		c.values++
	}
}

// elements returns the number of elements in a field of a list, which is packed for numbers.
func elements(content []byte, kind protoreflect.Kind) int {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return 1
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return len(content) / 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return len(content) / 8
	}
	count := 0
	for _, b := range content {
		if b < 0x80 { // the last byte of a number
			count++
		}
	}
	return count
}

// countJSONValues returns the number of '{', '[' and ',' in JSON outside of strings, or a number
// above limit if there are more.
func countJSONValues(text []byte, limit int) (values int) {
	for values <= limit {
		next := bytes.IndexAny(text, `{[,"`)
		if next < 0 {
			return values
		}
		opening := text[next]
		text = text[next+1:]
		if opening == '"' {
			text = afterString(text)
			continue
		}
		values++
	}
	return values
}

// afterString returns what follows a JSON string, whose opening quote has been read.
func afterString(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[i+1:]
		}
	}
	return nil
}
