package wire_test

import (
	"slices"
	"strings"
)

const (
	unaryPath  = "/kubeconnect.v1.ResourceService/Get"
	streamPath = "/kubeconnect.v1.ResourceService/Watch"
	log        = `{"namespace":"wire","name":"logger","tailLines":"1"}` // of one line: more may come in several messages
	one        = `{"resource":"configmaps","namespace":"wire","name":"one","fields":["metadata.labels"]}`
)

// typed is a request of a content type to Get.
func typed(name, contentType string, content body) exchange {
	return exchange{name: name, http: http2, path: unaryPath, header: []string{"Content-Type: " + contentType}, body: content}
}

// badJSON is JSON that a request must not have.
var badJSON = []struct{ name, content string }{
	{"malformed JSON", `{"resource":`},
	{"no JSON", ``},
	{"JSON of another type", `[]`},
	{"an unknown member", `{"resource":"configmaps","labelSelectr":"app=wire"}`},
	{"a member twice", `{"resource":"configmaps","resource":"secrets"}`},
	{"a member of another type", `{"resource":1}`},
	{"an unknown name of a value", `{"resource":"configmaps","encoding":"ENCODING_JASON"}`},
	{"trailing bytes", `{"resource":"nothing"} {}`},
	{"a name that is too long", `{"resource":"configmaps","namespace":"` + strings.Repeat("n", 300) + `"}`},
}

// eachBadJSON is bad JSON by each protocol that has JSON.
func eachBadJSON() (exchanges []exchange) {
	for _, bad := range badJSON {
		exchanges = append(exchanges,
			typed(bad.name+": Connect", "application/json", text(bad.content)),
			exchange{name: bad.name + ": a stream of Connect", path: streamPath, header: []string{"Content-Type: application/connect+json"}, body: frame(0, text(bad.content))},
			typed(bad.name+": gRPC", "application/grpc+json", frame(0, text(bad.content))).with("Te: trailers"),
			typed(bad.name+": gRPC-Web", "application/grpc-web+json", frame(0, text(bad.content))),
			exchange{name: bad.name + ": GET", method: "GET", path: unaryPath, query: "connect=v1&encoding=json&message=" + bad.content, header: []string{"Authorization: Bearer any"}},
		)
	}
	return exchanges
}

// bad is the body of a request that is not as a protocol has it.
type bad struct {
	name string
	body body
}

// badMessages are messages that no RPC accepts.
var badMessages = []bad{
	{"malformed protobuf", raw("\x0a\xffno")},
	{"an unknown field of protobuf", raw("\x0a\x07nothing\x92\x3f\x01x")},
	{"the field 19999 of protobuf", raw("\x0a\x07nothing\xfa\xe1\x09\x01x")},
	{"a text that is not UTF-8", raw("\x0a\x02\xff\xfe")},
	{"too many values", body{"17,000 paths of fields", func(*names) []byte { return []byte(strings.Repeat("\x32\x01a", 17_000)) }}},
}

// badFrames are the bodies of calls with a message, whose frames are not as a protocol has them.
func badFrames(message body) []bad {
	return []bad{
		{"an empty body", raw("")},
		{"an empty message", frame(0, raw(""))},
		{"two messages", joined(frame(0, message), frame(0, message))},
		{"bytes after the message", joined(frame(0, message), raw("no"))},
		{"a prefix that is too short", raw("\x00\x00\x00")},
		{"a message that is too short", raw("\x00\x00\x00\x00\x09\x0a")},
		{"a prefix with a length of 4 GiB", raw("\x00\xff\xff\xff\xff\x0a")},
		{"the flag of a compressed message, without a compression", frame(1, message)},
		{"the flag of the end of a stream", frame(2, raw("{}"))},
		{"an unknown flag", frame(4, message)},
		{"the flag of trailers", frame(0x80, raw("grpc-status: 0\r\n"))},
		{"a message and the end of the stream", joined(frame(0, message), frame(2, raw("{}")))},
	}
}

// eachBadBody is each bad body, by each protocol that has such bodies, for a call and for a stream.
func eachBadBody() (exchanges []exchange) {
	for _, bad := range badMessages {
		exchanges = append(exchanges,
			connect.call(bad.name, "ResourceService/Get", `{}`).sending(bad.body),
			grpc.call(bad.name, "ResourceService/Get", `{}`).sending(frame(0, bad.body)),
			grpcWeb.call(bad.name, "ResourceService/Get", `{}`).sending(frame(0, bad.body)),
			connect.call(bad.name+" for a stream", "ResourceService/Watch", `{}`).sending(frame(0, bad.body)),
			grpc.call(bad.name+" for a stream", "ResourceService/Watch", `{}`).sending(frame(0, bad.body)),
		)
	}
	for _, bad := range badFrames(message("ResourceService/Get", one)) {
		exchanges = append(exchanges,
			grpc.call(bad.name, "ResourceService/Get", `{}`).sending(bad.body),
			grpcWeb.call(bad.name, "ResourceService/Get", `{}`).sending(bad.body),
		)
	}
	for _, bad := range badFrames(message("PodService/GetLogs", log)) {
		exchanges = append(exchanges,
			connect.call(bad.name+" for a stream", "PodService/GetLogs", `{}`).sending(bad.body),
			grpc.call(bad.name+" for a stream", "PodService/GetLogs", `{}`).sending(bad.body),
		)
	}
	return exchanges
}

var requests = family{"requests", "Requests that are not as a protocol has them.", slices.Concat(
	[]exchange{
		{name: "an unknown procedure", path: "/kubeconnect.v1.ResourceService/None", header: []string{"Content-Type: application/json"}, body: text(`{}`)},
		{name: "an unknown procedure: gRPC", http: http2, path: "/kubeconnect.v1.ResourceService/None", header: []string{"Content-Type: application/grpc", "Te: trailers"}, body: frame(0, raw(""))},
		{name: "an unknown service", path: "/kubeconnect.v1.NoService/Get", header: []string{"Content-Type: application/json"}, body: text(`{}`)},
		{name: "another method", method: "PUT", path: unaryPath, header: []string{"Content-Type: application/json"}, body: text(`{}`)},
		{name: "another method: gRPC", http: http2, method: "PUT", path: unaryPath, header: []string{"Content-Type: application/grpc"}, body: frame(0, raw(""))},
		{name: "HEAD", method: "HEAD", path: unaryPath},
		{name: "GET without a message", method: "GET", path: unaryPath},
		{name: "GET of a stream", method: "GET", path: streamPath, query: "connect=v1&encoding=json&message={}"},
		{name: "GET of a change", method: "GET", path: "/kubeconnect.v1.ResourceService/Create", query: "connect=v1&encoding=json&message={}"},
		typed("no content type", "", text(`{}`)),
		typed("another content type", "text/plain", text(`{}`)),
		typed("an unknown codec", "application/avro", text(`{}`)),
		typed("an unknown codec: a stream of Connect", "application/connect+avro", text(`{}`)),
		typed("an unknown codec: gRPC", "application/grpc+avro", text(`{}`)),
		typed("gRPC-Web in base64", "application/grpc-web-text", inBase64(frame(0, message("ResourceService/Get", one)))),
		typed("gRPC-Web in base64, of protobuf", "application/grpc-web-text+proto", inBase64(frame(0, message("ResourceService/Get", one)))),
		typed("the content type of a stream for a call", "application/connect+json", frame(0, text(one))),
		{name: "the content type of a call for a stream", path: streamPath, header: []string{"Content-Type: application/json"}, body: text(`{}`)},
		typed("JSON with a charset", "application/json; charset=utf-8", text(one)),
		typed("JSON with a charset, in capitals", "application/json;charset=UTF-8", text(one)),
		typed("JSON with another charset", "application/json; charset=latin1", text(one)),
		typed("JSON with a parameter", "application/json; a=b", text(one)),
		typed("a content type in capitals", "Application/JSON", text(one)),
		typed("gRPC with the name of its codec", "application/grpc+proto", frame(0, message("ResourceService/Get", one))).with("Te: trailers"),
		typed("gRPC-Web without the name of its codec", "application/grpc-web", frame(0, message("ResourceService/Get", one))),
		typed("gRPC with JSON", "application/grpc+json", frame(0, text(one))).with("Te: trailers"),
		typed("gRPC-Web with JSON", "application/grpc-web+json", frame(0, text(one))),
		grpc.call("without Te", "ResourceService/Get", one).without("Te"),
		grpc.call("over HTTP/1.1", "ResourceService/Get", one).over(http1),
		grpc.call("a stream over HTTP/1.1", "PodService/GetLogs", log).over(http1),
		grpc.call("reflection over HTTP/1.1", reflectV1, `{}`).over(http1).sending(ask(reflectV1, `{"listServices":""}`)),
		connectJSON.call("over HTTP/2", "ResourceService/Get", one).over(http2),
		connectJSON.call("the version of the protocol", "ResourceService/Get", one).with("Connect-Protocol-Version: 1"),
		connectJSON.call("another version of the protocol", "ResourceService/Get", one).with("Connect-Protocol-Version: 2"),
		connectJSON.call("another version of the protocol for a stream", "ResourceService/Watch", watched).with("Connect-Protocol-Version: 2"),
		{name: "GET with another version", method: "GET", path: unaryPath, query: "connect=v2&encoding=json&message=" + one, header: []string{"Authorization: Bearer any"}},
		{name: "GET without a version", method: "GET", path: unaryPath, query: "encoding=json&message=" + one, header: []string{"Authorization: Bearer any"}},
		{name: "GET without an encoding", method: "GET", path: unaryPath, query: "connect=v1&message=" + one, header: []string{"Authorization: Bearer any"}},
		{name: "GET with an unknown encoding", method: "GET", path: unaryPath, query: "connect=v1&encoding=avro&message=" + one, header: []string{"Authorization: Bearer any"}},
		{name: "GET in base64", method: "GET", path: unaryPath, query: "connect=v1&encoding=json&base64=1&message=eyJyZXNvdXJjZSI6Im5vdGhpbmcifQ", header: []string{"Authorization: Bearer any"}},
		{name: "GET in padded base64", method: "GET", path: unaryPath, query: "connect=v1&encoding=json&base64=1&message=eyJyZXNvdXJjZSI6Im5vdGhpbmcifQ==", header: []string{"Authorization: Bearer any"}},
		{name: "GET in invalid base64", method: "GET", path: unaryPath, query: "connect=v1&encoding=json&base64=1&message=*", header: []string{"Authorization: Bearer any"}},
		{name: "GET with an unknown compression", method: "GET", path: unaryPath, query: "connect=v1&encoding=json&compression=br&base64=1&message=e30", header: []string{"Authorization: Bearer any"}},
		{name: "GET of protobuf", method: "GET", path: unaryPath, query: "connect=v1&encoding=proto&base64=1&message=CgdvdGhlcnM", header: []string{"Authorization: Bearer any"}},
		connectJSON.call("a long request", "ResourceService/Get", `{}`).sending(zeros(300 << 10)),
		connect.call("a long request", "ResourceService/Get", `{}`).sending(zeros(300 << 10)),
		grpc.call("a long request", "ResourceService/Get", `{}`).sending(frame(0, zeros(300<<10))),
		grpcWeb.call("a long request", "ResourceService/Get", `{}`).sending(frame(0, zeros(300<<10))),
		connectJSON.call("a long request for a stream", "ResourceService/Watch", `{}`).sending(frame(0, zeros(300<<10))),
		grpc.call("a long request for a stream", "ResourceService/Watch", `{}`).sending(frame(0, zeros(300<<10))),
		{name: "a long request by GET", http: http2, method: "GET", path: unaryPath, query: `connect=v1&encoding=json&message={"resource":"` + strings.Repeat("a", 2000) + `"}`, header: []string{"Authorization: Bearer any"}},
	},
	eachBadJSON(),
	eachBadBody(),
)}

const largeObject = `{"resource":"configmaps","namespace":"wire","name":"large","fields":["data"]}`

var encodings = family{"encodings", "Compression of requests and responses.", slices.Concat(
	[]exchange{
		connectJSON.call("a compressed request", "ResourceService/Get", one).with("Content-Encoding: gzip").sending(gzipped(text(one))),
		connect.call("a compressed request", "ResourceService/Get", one).with("Content-Encoding: gzip").sending(gzipped(message("ResourceService/Get", one))),
		grpc.call("a compressed request", "ResourceService/Get", one).with("Grpc-Encoding: gzip").sending(frame(1, gzipped(message("ResourceService/Get", one)))),
		grpcWeb.call("a compressed request", "ResourceService/Get", one).with("Grpc-Encoding: gzip").sending(frame(1, gzipped(message("ResourceService/Get", one)))),
		connectJSON.call("a compressed request for a stream", "PodService/GetLogs", one).with("Connect-Content-Encoding: gzip").sending(frame(1, gzipped(text(log)))),
		connectJSON.call("identity", "ResourceService/Get", one).with("Content-Encoding: identity"),
		grpc.call("identity", "ResourceService/Get", one).with("Grpc-Encoding: identity"),
		connectJSON.call("an unknown compression", "ResourceService/Get", one).with("Content-Encoding: br"),
		grpc.call("an unknown compression", "ResourceService/Get", one).with("Grpc-Encoding: br"),
		grpcWeb.call("an unknown compression", "ResourceService/Get", one).with("Grpc-Encoding: br"),
		connectJSON.call("an unknown compression for a stream", "ResourceService/Watch", watched).with("Connect-Content-Encoding: br"),
		connectJSON.call("a request that is not compressed as it says", "ResourceService/Get", one).with("Content-Encoding: gzip"),
		grpc.call("a request that is not compressed as it says", "ResourceService/Get", one).with("Grpc-Encoding: gzip").sending(frame(1, raw("no"))),
		connectJSON.call("a short request that is long when it is decompressed", "ResourceService/Get", one).with("Content-Encoding: gzip").sending(gzipped(zeros(300 << 10))),
		grpc.call("a short request that is long when it is decompressed", "ResourceService/Get", one).with("Grpc-Encoding: gzip").sending(frame(1, gzipped(zeros(300<<10)))),
		connectJSON.call("an encoding of the body of a stream", "PodService/GetLogs", log).with("Content-Encoding: gzip"),
		grpc.call("an encoding of the body", "ResourceService/Get", one).with("Content-Encoding: gzip"),
	},
	accepting(open, "gzip, br"),
	accepting(compress, "gzip"),
	accepting(compress, "br, gzip;q=0.5"),
	accepting(compress, "br"),
	accepting(compress, "identity"),
	[]exchange{
		connectJSON.call("a small object to a client that accepts gzip", "ResourceService/Get", one).at(compress).with("Accept-Encoding: gzip"),
		connectJSON.call("an error to a client that accepts gzip", "ResourceService/Get", notFound).at(compress).with("Accept-Encoding: gzip"),
		get("a large object to a client that accepts gzip", "ResourceService/Get", largeObject).at(compress).with("Accept-Encoding: gzip"),
		connectJSON.call("a stream to a client that accepts gzip", "PodService/GetLogs", log).at(compress).with("Connect-Accept-Encoding: gzip", "Accept-Encoding: gzip"),
		grpc.call("a stream to a client that accepts gzip", "PodService/GetLogs", log).at(compress).with("Grpc-Accept-Encoding: gzip"),
	},
)}

// accepting is a read of a large object by clients that accept encodings.
func accepting(to service, encodings string) []exchange {
	name := "a large object to a client that accepts " + encodings
	return []exchange{
		connectJSON.call(name, "ResourceService/Get", largeObject).at(to).with("Accept-Encoding: " + encodings),
		connect.call(name, "ResourceService/Get", largeObject).at(to).with("Accept-Encoding: " + encodings),
		grpc.call(name, "ResourceService/Get", largeObject).at(to).with("Grpc-Accept-Encoding: " + encodings),
		grpcWeb.call(name, "ResourceService/Get", largeObject).at(to).with("Grpc-Accept-Encoding: " + encodings),
	}
}

var timeouts = family{"timeouts", "Timeouts that clients set.", slices.Concat(
	connectTimeouts("0", "abc", "-1", "1.5", "", "9999999999", "99999999999"),
	grpcTimeouts("0S", "abc", "1", "1x", "-1S", "99999999S", "999999999S", "99999999H"),
	[]exchange{
		connectJSON.call("a watch that times out", "ResourceService/Watch", watched).with("Connect-Timeout-Ms: 1500"),
		grpc.call("a watch that times out", "ResourceService/Watch", watched).with("Grpc-Timeout: 1500m"),
		connect.call("a watch of health that times out", "grpc.health.v1.Health/Watch", `{}`).with("Connect-Timeout-Ms: 500"),
		grpcWeb.call("a watch of health that times out", "grpc.health.v1.Health/Watch", `{}`).with("Grpc-Timeout: 500m"),
	},
)}

func connectTimeouts(values ...string) (exchanges []exchange) {
	for _, value := range values {
		exchanges = append(exchanges,
			connectJSON.call("a timeout of "+value, "ResourceService/Get", one).with("Connect-Timeout-Ms: "+value),
			connectJSON.call("a timeout of "+value+" for a log", "PodService/GetLogs", `{"namespace":"wire","name":"none"}`).with("Connect-Timeout-Ms: "+value))
	}
	return exchanges
}

func grpcTimeouts(values ...string) (exchanges []exchange) {
	for _, value := range values {
		exchanges = append(exchanges,
			grpc.call("a timeout of "+value, "ResourceService/Get", one).with("Grpc-Timeout: "+value),
			grpcWeb.call("a timeout of "+value+" for a log", "PodService/GetLogs", `{"namespace":"wire","name":"none"}`).with("Grpc-Timeout: "+value))
	}
	return exchanges
}
