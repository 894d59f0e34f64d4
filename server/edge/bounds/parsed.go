package bounds

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// textGrowth is the factor by which a request takes more memory, decoded and parsed, than as it is sent, and
	// valueBytes the memory for each value of a list in it, such as a path or a value of a selector: an entry of a
	// set and what refers to it.
	textGrowth = 12
	valueBytes = 384
)

// ParsedBytes estimates the memory of a text in the form of a field that is kept in its parsed form, such as a
// selector.
func ParsedBytes(text string) int {
	return textGrowth*len(text) + valueBytes*strings.Count(text, ",")
}

// ParsedRequestBytes estimates the memory of a request that is kept in its parsed form.
func ParsedRequestBytes(request proto.Message) int {
	return textGrowth*proto.Size(request) + valueBytes*valuesIn(request.ProtoReflect())
}

// valuesIn returns the number of values of all lists in a message: of its repeated fields, and of texts that are
// lists.
func valuesIn(message protoreflect.Message) (values int) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList():
			list := value.List()
			values += list.Len()
			for i := 0; i < list.Len() && mayHaveValues(field.Message()); i++ {
				values += valuesIn(list.Get(i).Message())
			}
		case field.Kind() == protoreflect.StringKind:
			values += strings.Count(value.String(), ",")
		case field.Message() != nil && !field.IsMap():
			values += valuesIn(value.Message())
		}
		return true
	})
	return values
}

// mayHaveValues reports whether messages have lists. A request has thousands of messages with only names, numbers and
// times, such as positions of logs, and to read them takes longer than to decode them.
func mayHaveValues(message protoreflect.MessageDescriptor) bool {
	for i := 0; message != nil && i < message.Fields().Len(); i++ {
		field := message.Fields().Get(i)
		_, isName := maxNames[field.Name()]
		switch {
		case field.Cardinality() == protoreflect.Repeated, field.Kind() == protoreflect.StringKind && !isName:
			return true
		case field.Message() != nil && field.Message().FullName() != "google.protobuf.Timestamp":
			return true
		}
	}
	return false
}
