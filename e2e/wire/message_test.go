package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	_ "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// methodOf returns the description of an RPC.
func methodOf(rpc string) protoreflect.MethodDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(pathOf(rpc), "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", rpc, err)) // a row of a table is wrong
	}
	return found.(protoreflect.MethodDescriptor)
}

func newMessage(of protoreflect.MessageDescriptor) proto.Message {
	found, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		panic(err) // methodOf has found it
	}
	return found.New().Interface()
}

// node is a part of a response as text: a value, or several parts in brackets.
type node struct {
	label       string // of the part, such as "name: "
	value       string // without brackets
	open, close string // the brackets, or empty
	comma       bool   // the parts are separated by commas
	parts       []node
}

// maxColumns is the length of a line above which a node has one line for each of its parts.
const maxColumns = 140

// line returns a node in one line, if there are no line breaks in it.
func (n node) line() string {
	if n.open == "" || len(n.parts) == 0 {
		return n.label + n.open + n.value + n.close
	}
	var lines []string
	for _, part := range n.parts {
		lines = append(lines, part.line())
	}
	if n.comma {
		return n.label + n.open + strings.Join(lines, ", ") + n.close
	}
	return n.label + n.open + " " + strings.Join(lines, " ") + " " + n.close
}

// text returns a node in as many lines as it needs at this indent.
func (n node) text(indent string) string {
	line := n.line()
	if len(n.parts) == 0 || len(indent)+len(line) <= maxColumns && !strings.Contains(line, "\n") {
		return strings.ReplaceAll(line, "\n", "\n"+indent)
	}
	separator := "\n"
	if n.comma {
		separator = ",\n"
	}
	var lines []string
	for _, part := range n.parts {
		lines = append(lines, indent+"  "+part.text(indent+"  "))
	}
	return n.label + n.open + "\n" + strings.Join(lines, separator) + "\n" + indent + n.close
}

// message returns an encoded message as text, with its fields in the order in which they were sent.
// Entries of maps are sorted: protobuf sends them in random order. Messages of google.protobuf, such as a
// Struct, are shown as JSON.
func (n *names) message(data []byte, of protoreflect.MessageDescriptor) node {
	decoded := newMessage(of)
	if err := proto.Unmarshal(data, decoded); err != nil {
		return node{value: fmt.Sprintf("%q, which is no %s: %v", data, of.FullName(), err)}
	}
	all := node{open: "{", close: "}", parts: n.fields(data, of)}
	if proto.Size(decoded) != len(data) {
		all.close += " (not in the shortest encoding)"
	}
	return all
}

func (n *names) fields(data []byte, of protoreflect.MessageDescriptor) (parts []node) {
	var entries []node
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		length := tag + protowire.ConsumeFieldValue(number, kind, data[tag:])
		value := data[tag:length]
		data = data[length:]
		field := of.Fields().ByNumber(number)
		switch {
		case field == nil:
			parts = append(parts, node{label: fmt.Sprint(number, ": "), value: fmt.Sprintf("%q (unknown)", value)})
		case field.IsMap():
			entries = append(entries, n.field(value, kind, field))
		default:
			parts = append(parts, n.field(value, kind, field))
		}
	}
	slices.SortFunc(entries, func(a, b node) int { return strings.Compare(a.line(), b.line()) })
	return append(parts, entries...)
}

func (n *names) field(value []byte, kind protowire.Type, field protoreflect.FieldDescriptor) node {
	name := string(field.Name())
	content, length := protowire.ConsumeBytes(value)
	switch {
	case kind != protowire.BytesType || length < 0:
		return n.leaf(name+": ", numberOf(value, kind, field))
	case field.Message() != nil && field.Message().FullName().Parent() == "google.protobuf":
		return n.known(name+": ", content, field.Message())
	case field.Message() != nil:
		return node{label: name + " ", open: "{", close: "}", parts: n.fields(content, field.Message())}
	case field.Kind() == protoreflect.StringKind, field.Kind() == protoreflect.BytesKind:
		return n.bytes(name+": ", content)
	}
	return node{label: name + ": ", value: fmt.Sprintf("%x (packed)", content)}
}

// leaf is a value without parts.
func (n *names) leaf(label, value string) node {
	hidden := n.hide(label + value)
	return node{label: label, value: strings.TrimPrefix(hidden, label)}
}

func numberOf(value []byte, kind protowire.Type, field protoreflect.FieldDescriptor) string {
	switch kind {
	case protowire.Fixed64Type:
		bits, _ := protowire.ConsumeFixed64(value)
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case protowire.VarintType:
		number, _ := protowire.ConsumeVarint(value)
		if field.Enum() != nil {
			if named := field.Enum().Values().ByNumber(protoreflect.EnumNumber(number)); named != nil {
				return string(named.Name())
			}
		}
		if field.Kind() == protoreflect.BoolKind {
			return strconv.FormatBool(number != 0)
		}
		return strconv.FormatInt(int64(number), 10)
	}
	return fmt.Sprintf("%x", value)
}

// known is a message of google.protobuf.
func (n *names) known(label string, content []byte, of protoreflect.MessageDescriptor) node {
	decoded := newMessage(of)
	if err := proto.Unmarshal(content, decoded); err != nil {
		return node{label: label, value: fmt.Sprintf("%q, which is no %s: %v", content, of.FullName(), err)}
	}
	text, err := protojson.Marshal(decoded)
	if err != nil {
		return node{label: label, value: fmt.Sprintf("%q, which is no JSON: %v", content, err)}
	}
	return n.json(label, text)
}

// bytes are a value that may be JSON, text, or neither.
func (n *names) bytes(label string, content []byte) node {
	switch {
	case json.Valid(content) && bytes.HasPrefix(content, []byte("{")):
		return n.json(label+"JSON ", content)
	case bytes.HasPrefix(content, []byte("k8s\x00")):
		return node{label: label, value: "<Kubernetes protobuf>"}
	case isPrintable(content):
		return n.leaf(label, strconv.Quote(string(content)))
	}
	return node{label: label, value: fmt.Sprintf("<%d other bytes>", len(content))}
}

func isPrintable(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// json returns JSON with its members in the order in which they were sent. Whether it has spaces is not
// shown, because protobuf decides that by the build. Details of errors and fields of bytes, which are
// in base64, are decoded.
func (n *names) json(label string, text []byte) node {
	if !json.Valid(text) {
		return node{label: label, value: fmt.Sprintf("%q, which is no JSON", text)}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	first, _ := decoder.Token() // it is valid
	switch first {
	case json.Delim('{'):
		return node{label: label, open: "{", close: "}", comma: true, parts: n.members(decoder)}
	case json.Delim('['):
		all := node{label: label, open: "[", close: "]", comma: true}
		for decoder.More() {
			var element json.RawMessage
			_ = decoder.Decode(&element)
			all.parts = append(all.parts, n.json("", element))
		}
		return all
	}
	return n.leaf(label, string(bytes.TrimSpace(text)))
}

func (n *names) members(decoder *json.Decoder) (parts []node) {
	ofType, sent := "", ""
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		label := fmt.Sprintf("%q: ", name)
		var text string
		isText := json.Unmarshal(value, &text) == nil
		switch {
		case name == "type" && isText:
			ofType = text
		case name == "value" && isText && protoreflect.FullName(ofType).IsValid() && strings.Contains(ofType, "."):
			sent = text
			parts = append(parts, n.detail(label, text, protoreflect.FullName(ofType)))
			continue
		case name == "debug" && isDebugOf(value, sent, protoreflect.FullName(ofType)):
			parts = append(parts, node{label: label, value: "the same"})
			continue
		case isText && slices.Contains(fieldsOfBytes, fmt.Sprint(name)):
			if content, err := base64.StdEncoding.DecodeString(text); err == nil {
				parts = append(parts, n.bytes(label+"base64 of ", content))
				continue
			}
		}
		parts = append(parts, n.json(label, value))
	}
	return parts
}

// isDebugOf reports whether JSON is that of a detail in base64.
func isDebugOf(debug []byte, sent string, of protoreflect.FullName) bool {
	found, err := protoregistry.GlobalTypes.FindMessageByName(of)
	if err != nil {
		return false
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(sent, "="))
	want, got := found.New().Interface(), found.New().Interface()
	return err == nil && proto.Unmarshal(content, want) == nil && protojson.Unmarshal(debug, got) == nil && proto.Equal(want, got)
}

// fieldsOfBytes are the fields of bytes in responses, as JSON has them.
var fieldsOfBytes = []string{"json", "data", "protobuf", "text"}

// detail is a detail of an error, as Connect and gRPC send it.
func (n *names) detail(label, sent string, of protoreflect.FullName) node {
	encoding, padding := base64.RawStdEncoding, "base64 of "
	if strings.HasSuffix(sent, "=") {
		encoding, padding = base64.StdEncoding, "padded base64 of "
	}
	content, err := encoding.DecodeString(sent)
	if err != nil {
		return node{label: label, value: fmt.Sprintf("%q, which is not base64: %v", sent, err)}
	}
	found, err := protoregistry.GlobalTypes.FindMessageByName(of)
	if err != nil {
		return node{label: label, value: fmt.Sprintf("%q of unknown type %s", sent, of)}
	}
	detail := n.message(content, found.Descriptor())
	detail.label = label + padding + string(of) + " "
	return detail
}
