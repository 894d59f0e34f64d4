package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// recorder turns a response into text.
type recorder struct {
	names    *names
	exchange exchange
	response *http.Response
	output   protoreflect.MessageDescriptor // of the RPC; nil if there is no such RPC
	out      strings.Builder
}

// record reads a response. received is called when the first message of a stream has been received, and
// cancel when the exchange has as many messages as it needs.
func record(e exchange, n *names, response *http.Response, received, cancel func()) string {
	r := &recorder{names: n, exchange: e, response: response, output: outputOf(e.path)}
	fmt.Fprintf(&r.out, "%s %s\n", response.Proto, response.Status)
	for _, encoding := range response.TransferEncoding { // net/http removes the header
		response.Header.Add("Transfer-Encoding", encoding)
	}
	switch kind := response.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/grpc"), strings.HasPrefix(kind, "application/connect+"):
		r.header(response.Header)
		r.frames(received, cancel)
	default:
		content, err := io.ReadAll(response.Body)
		r.length(content)
		r.header(response.Header)
		r.content(content)
		r.out.WriteString(r.end(err))
	}
	r.trailer()
	return r.out.String()
}

// outputOf returns the type of the responses of a path.
func outputOf(path string) protoreflect.MessageDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil
	}
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil
	}
	return method.Output()
}

// length replaces the length of a response by a placeholder, if it is right.
func (r *recorder) length(content []byte) {
	if r.response.Header.Get("Content-Length") == strconv.Itoa(len(content)) && len(content) > 0 {
		r.response.Header.Set("Content-Length", "<that of the body>")
	}
}

// usual are the headers of nearly all responses. They are shown where they are missing or different.
var usual = []string{
	"Cross-Origin-Resource-Policy: same-origin", "Date: <date>", "Kubeconnect-Replica: <replica>", "X-Content-Type-Options: nosniff", "X-Request-Id: <id>",
}

func (r *recorder) header(header http.Header) {
	lines := r.headerLines(header)
	for _, line := range usual {
		if i := slices.Index(lines, line); i >= 0 {
			lines = slices.Delete(lines, i, i+1)
			continue
		}
		name, _, _ := strings.Cut(line, ":")
		lines = append(lines, "(no usual "+name+")")
	}
	r.out.WriteString(strings.Join(lines, "\n") + "\n")
}

// headerLines returns headers or trailers in alphabetical order.
func (r *recorder) headerLines(header http.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			line := node{label: name + ": ", value: value}
			if name == "Grpc-Status-Details-Bin" {
				line = r.names.detail(name+": ", value, "google.rpc.Status")
			}
			lines = append(lines, r.names.hide(line.text("")))
		}
	}
	return lines
}

// content writes a body without frames.
func (r *recorder) content(content []byte) {
	if len(content) == 0 {
		return
	}
	r.out.WriteString("\n")
	if r.response.Header.Get("Content-Encoding") == "gzip" {
		r.out.WriteString("gzip of ")
		content = uncompressed(content)
	}
	switch kind := r.response.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/json"):
		r.out.WriteString(r.names.json("", content).text("") + "\n")
	case kind == "application/proto" && r.output != nil:
		r.out.WriteString(r.names.message(content, r.output).text("") + "\n")
	default:
		r.out.Write(content)
	}
}

func uncompressed(content []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Appendf(nil, "%q, which is no gzip: %v", content, err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Appendf(nil, "%q, which is no gzip: %v", content, err)
	}
	return plain
}

// frames writes the messages of a stream, or the only one of a unary call by gRPC and gRPC-Web. Bookmarks
// after the first message are omitted: how many there are depends on the time.
func (r *recorder) frames(received, cancel func()) {
	var messages []string
	var merged proto.Message
	ended := ""
	for len(messages) < r.exchange.messages || r.exchange.messages == 0 {
		flags, content, err := readFrame(r.response.Body)
		if err != nil {
			ended = r.end(err)
			break
		}
		message := r.decoded(flags, content)
		if len(messages) > 0 && isBookmark(message) {
			continue
		}
		if r.exchange.merged && message != nil {
			if merged == nil {
				merged = message.ProtoReflect().New().Interface()
			}
			proto.Merge(merged, message)
			continue
		}
		messages = append(messages, fmt.Sprintf("\nframe %02x: %s\n", flags, r.frame(flags, content)))
		if len(messages) == 1 {
			received()
		}
	}
	if r.exchange.anyOrder {
		slices.Sort(messages)
	}
	r.out.WriteString(r.shownAsOne(merged) + strings.Join(messages, "") + ended)
	if ended == "" && len(messages) == r.exchange.messages {
		r.out.WriteString("\n(the client cancels)\n")
		cancel()
	}
}

// shownAsOne returns the messages of a stream that are merged; empty if there are none.
func (r *recorder) shownAsOne(merged proto.Message) string {
	if merged == nil {
		return ""
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(merged)
	if err != nil {
		return fmt.Sprintf("\n(not protobuf: %v)\n", err)
	}
	return "\nframes 00, as one: " + r.names.message(encoded, r.output).text("") + "\n"
}

func readFrame(from io.Reader) (flags byte, content []byte, err error) {
	var prefix [5]byte
	if _, err := io.ReadFull(from, prefix[:]); err != nil {
		return 0, nil, err
	}
	content = make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	_, err = io.ReadFull(from, content)
	return prefix[0], content, err
}

const (
	flagCompressed   = 0x01
	flagConnectEnd   = 0x02
	flagGRPCWebTrail = 0x80
)

// frame returns the content of a frame as text.
func (r *recorder) frame(flags byte, content []byte) string {
	mark := ""
	if flags&flagCompressed != 0 {
		mark, content = "gzip of ", uncompressed(content)
	}
	switch {
	case flags&flagGRPCWebTrail != 0:
		return mark + r.trailers(string(content))
	case flags&flagConnectEnd != 0, r.isJSON():
		return mark + r.names.json("", content).text("")
	case r.output == nil:
		return mark + strconv.Quote(string(content))
	}
	return mark + r.names.message(content, r.output).text("")
}

func (r *recorder) isJSON() bool {
	return strings.HasSuffix(r.response.Header.Get("Content-Type"), "json")
}

// decoded returns the message in a frame; nil if there is none.
func (r *recorder) decoded(flags byte, content []byte) proto.Message {
	if flags != 0 || r.output == nil {
		return nil
	}
	message := newMessage(r.output)
	if r.isJSON() && protojson.Unmarshal(content, message) != nil || !r.isJSON() && proto.Unmarshal(content, message) != nil {
		return nil
	}
	return message
}

// isBookmark reports whether a message has nothing but a bookmark.
func isBookmark(message proto.Message) bool {
	watch, ok := message.(*kubeconnectv1.WatchResponse)
	if many, isMany := message.(*kubeconnectv1.WatchManyResponse); isMany {
		watch, ok = many.GetResponse(), true
	}
	return ok && len(watch.GetEvents()) == 1 && watch.GetEvents()[0].GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK
}

// trailers returns the trailers of gRPC-Web, which are sent in random order, sorted.
func (r *recorder) trailers(content string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(content, "\r\n"), "\r\n") {
		if value, ok := strings.CutPrefix(line, "grpc-status-details-bin: "); ok {
			line = r.names.detail("grpc-status-details-bin: ", value, "google.rpc.Status").text("")
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return "trailers\n" + strings.Join(lines, "\n")
}

// end returns how reading has ended, unless the response was complete.
func (r *recorder) end(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	return fmt.Sprintf("\n(the response ends: %v)\n", err)
}

func (r *recorder) trailer() {
	if len(r.response.Trailer) == 0 {
		return
	}
	r.out.WriteString("\ntrailers\n" + strings.Join(r.headerLines(r.response.Trailer), "\n") + "\n")
}
