package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// exchange is a request, and what is read of its response. The zero values of its fields stand for an
// ordinary call. A placeholder in path, query, header and body, such as <page token>, is replaced by the
// value that it has stood for in earlier exchanges of the family.
type exchange struct {
	name string
	// to is the service that is called. Default: open.
	to service
	// http is the version of HTTP. Default: http1.
	http version
	// method is the HTTP method. Default: POST.
	method string
	// path is the path of the URL, and query its parameters, not escaped.
	path, query string
	// header has lines such as "Content-Type: application/json".
	header []string
	body   body
	// messages is the number of messages after which the client cancels the stream. Default: the stream is
	// read to its end.
	messages int
	// anyOrder is whether the messages of the stream have no order. Their records are sorted.
	anyOrder bool
	// merged is whether the number of the messages depends on the time. They are shown as one.
	merged bool
	// do is called when the first message has been received.
	do func(*world)
	// meanwhile are sent when the first message has been received, while the stream is open.
	meanwhile []exchange
}

// version is a version of HTTP, in plain text.
type version string

const (
	http1 version = "HTTP/1.1"
	http2 version = "HTTP/2.0"
)

// body is the body of a request.
type body struct {
	shown  string
	encode func(*names) []byte // nil without a body
}

// text is a body in plain text, such as JSON.
func text(content string) body {
	return body{content, func(n *names) []byte { return []byte(n.fill(content)) }}
}

// raw is a body of any bytes, which are shown in Go's syntax.
func raw(content string) body {
	return body{fmt.Sprintf("%q", content), func(*names) []byte { return []byte(content) }}
}

// zeros is a body of a length.
func zeros(length int) body {
	return body{fmt.Sprintf("%d zero bytes", length), func(*names) []byte { return make([]byte, length) }}
}

// message is the request of an RPC as protobuf, given as JSON.
func message(rpc, content string) body {
	return body{"protobuf of " + content, func(n *names) []byte {
		request := newMessage(methodOf(rpc).Input())
		if err := protojson.Unmarshal([]byte(n.fill(content)), request); err != nil {
			panic(fmt.Sprintf("%s: %s: %v", rpc, content, err)) // a row of a table is wrong
		}
		encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
		if err != nil {
			panic(err)
		}
		return encoded
	}}
}

// frame is a body in the envelope of gRPC, gRPC-Web and streams of Connect.
func frame(flags byte, content body) body {
	return body{fmt.Sprintf("frame %02x: %s", flags, content.shown), func(n *names) []byte {
		encoded := content.encode(n)
		return append(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(encoded))), encoded...)
	}}
}

// gzipped is a compressed body.
func gzipped(content body) body {
	return body{"gzip of " + content.shown, func(n *names) []byte {
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		_, _ = writer.Write(content.encode(n)) // to memory
		_ = writer.Close()
		return compressed.Bytes()
	}}
}

// inBase64 is a body in base64.
func inBase64(content body) body {
	return body{"base64 of " + content.shown, func(n *names) []byte {
		return []byte(base64.StdEncoding.EncodeToString(content.encode(n)))
	}}
}

// joined is several bodies as one.
func joined(parts ...body) body {
	var shown []string
	for _, part := range parts {
		shown = append(shown, part.shown)
	}
	return body{strings.Join(shown, "\n"), func(n *names) (all []byte) {
		for _, part := range parts {
			all = append(all, part.encode(n)...)
		}
		return all
	}}
}

// protocol is a way to call an RPC.
type protocol struct {
	name           string
	http           version
	unary, stream  string // content types
	header         []string
	isGRPC, isJSON bool
}

var (
	connectJSON = protocol{name: "Connect with JSON", http: http1, unary: "application/json", stream: "application/connect+json", isJSON: true}
	connect     = protocol{name: "Connect", http: http2, unary: "application/proto", stream: "application/connect+proto"}
	grpc        = protocol{name: "gRPC", http: http2, unary: "application/grpc", stream: "application/grpc", header: []string{"Te: trailers"}, isGRPC: true}
	grpcWeb     = protocol{name: "gRPC-Web", http: http1, unary: "application/grpc-web+proto", stream: "application/grpc-web+proto", isGRPC: true}
	protocols   = []protocol{connectJSON, connect, grpc, grpcWeb}
)

// call is an exchange of an RPC, whose request is given as JSON.
func (p protocol) call(name, rpc, content string) exchange {
	e := exchange{name: name + ": " + p.name, http: p.http, path: pathOf(rpc)}
	isStream, contentType := methodOf(rpc).IsStreamingServer(), p.unary
	e.body = message(rpc, content)
	if p.isJSON {
		e.body = text(content)
	}
	if isStream {
		contentType = p.stream
	}
	if isStream || p.isGRPC {
		e.body = frame(0, e.body)
	}
	e.header = append([]string{"Content-Type: " + contentType}, p.header...)
	return e
}

// get is an exchange of a read by GET.
func get(name, rpc, content string) exchange {
	return exchange{
		name: name + ": Connect with GET", http: http2, method: http.MethodGet, path: pathOf(rpc),
		query: "connect=v1&encoding=json&message=" + content, header: []string{"Authorization: Bearer any"},
	}
}

// getProto is get with protobuf in base64.
func getProto(name, rpc, content string) exchange {
	e := get(name, rpc, content)
	e.name += " and protobuf"
	e.query = "connect=v1&encoding=proto&base64=1&message=" + base64.RawURLEncoding.EncodeToString(message(rpc, content).encode(newNames()))
	return e
}

// byEach is the same call by each protocol.
func byEach(name, rpc, content string) (exchanges []exchange) {
	for _, p := range protocols {
		exchanges = append(exchanges, p.call(name, rpc, content))
	}
	return exchanges
}

// until makes the client cancel each of the streams after a number of messages.
func until(messages int, exchanges ...exchange) []exchange {
	for i := range exchanges {
		exchanges[i].messages = messages
	}
	return exchanges
}

// with adds lines to the header of an exchange.
func (e exchange) with(header ...string) exchange {
	e.header = append(e.header[:len(e.header):len(e.header)], header...)
	return e
}

// at changes the service that is called.
func (e exchange) at(to service) exchange {
	e.to = to
	return e
}

// without removes a header.
func (e exchange) without(name string) exchange {
	e.header = slices.DeleteFunc(slices.Clone(e.header), func(line string) bool { return strings.HasPrefix(line, name+": ") })
	return e
}

// over changes the version of HTTP.
func (e exchange) over(http version) exchange {
	e.http = http
	e.name += " over " + string(http)
	return e
}

// sending changes the body.
func (e exchange) sending(content body) exchange {
	e.body = content
	return e
}

// doing changes what happens when the first message has been received.
func (e exchange) doing(do func(*world)) exchange {
	e.do = do
	return e
}

// request returns the request of an exchange.
func (e exchange) request(ctx context.Context, t *testing.T, address string, n *names) *http.Request {
	t.Helper()
	var content []byte
	if e.body.encode != nil {
		content = e.body.encode(n)
	}
	request, err := http.NewRequestWithContext(ctx, e.verb(), address+e.path+e.parameters(n), bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	request.Header["User-Agent"] = nil
	for _, line := range e.header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, n.fill(value))
	}
	return request
}

func (e exchange) verb() string {
	if e.method == "" {
		return http.MethodPost
	}
	return e.method
}

// parameters returns the query of the URL, escaped.
func (e exchange) parameters(n *names) string {
	if e.query == "" {
		return ""
	}
	var pairs []string
	for pair := range strings.SplitSeq(e.query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, name+"="+url.QueryEscape(n.fill(value)))
	}
	return "?" + strings.Join(pairs, "&")
}

// shown returns the request as text.
func (e exchange) shown() string {
	var lines []string
	target := e.path
	if e.query != "" {
		target += "?" + e.query
	}
	version := e.http
	if version == "" {
		version = http1
	}
	lines = append(lines, e.verb()+" "+target+" "+string(version))
	lines = append(lines, e.header[:min(len(e.header), maxShownHeaders)]...)
	if len(e.header) > maxShownHeaders {
		lines = append(lines, fmt.Sprintf("(%d headers)", len(e.header)))
	}
	if e.body.shown != "" {
		lines = append(lines, "", e.body.shown)
	}
	for i, line := range lines {
		if len(line) > maxShownLine {
			lines[i] = fmt.Sprintf("%s… (%d bytes)", line[:maxShownLine], len(line))
		}
	}
	return quoted("> ", strings.Join(lines, "\n"))
}

// maxShownHeaders and maxShownLine bound what is shown of a request.
const maxShownHeaders, maxShownLine = 8, 250

// quoted begins each line of a text with a mark.
func quoted(mark, text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out.WriteString(strings.TrimRight(mark+line, " ") + "\n")
	}
	return out.String()
}

// pathOf returns the path of an RPC, such as ResourceService/Get or grpc.health.v1.Health/Check.
func pathOf(rpc string) string {
	if strings.HasPrefix(rpc, "grpc.") {
		return "/" + rpc
	}
	return "/kubeconnect.v1." + rpc
}
