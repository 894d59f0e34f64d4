package edge

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

const (
	// maxManifestBytes bounds a request with a manifest: it is a little above the API server's
	// limit.
	maxManifestBytes = 4 << 20
	// maxRequestBytes bounds other requests: it is a little above the longest selectors and
	// filters.
	maxRequestBytes = 256 << 10
	// maxQuestionsBytes bounds a request of CheckAccess, in which a question can have 2 bytes.
	maxQuestionsBytes = 64 << 10
	// maxHealthRequestBytes bounds a request of health, which needs no authentication, and of
	// reflection.
	maxHealthRequestBytes = 4 << 10
)

// maxBytesOf returns the maximum length of a request of a procedure.
func maxBytesOf(procedure string) int64 {
	switch {
	case hasManifest(procedure):
		return maxManifestBytes
	case procedure == kubeconnectv1connect.AccessServiceCheckAccessProcedure:
		return maxQuestionsBytes
	}
	if strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1ServiceName+"/") || strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1AlphaServiceName+"/") {
		return maxHealthRequestBytes
	}
	return maxRequestBytes
}

func hasManifest(procedure string) bool {
	switch procedure {
	case kubeconnectv1connect.ResourceServiceCreateProcedure,
		kubeconnectv1connect.ResourceServiceUpdateProcedure,
		kubeconnectv1connect.ResourceServicePatchProcedure:
		return true
	}
	return false
}

// decodedBytes estimates the memory of a request of a procedure when it is decoded. The values of a
// request grow most, such as a join or a number in a manifest that is a google.protobuf.Value, and
// maxValuesOf bounds them.
func decodedBytes(procedure string, length int64) int64 {
	switch {
	case hasManifest(procedure):
		return min(manifestGrowth*length, maxRequestsOfCaller)
	case procedure == kubeconnectv1connect.ResourceServiceWatchManyProcedure:
		return min(watchGrowth*length, maxRequestsOfCaller)
	}
	return min(requestGrowth*length, maxGrownBytes)
}

const (
	// manifestGrowth, watchGrowth and requestGrowth bound the memory for each byte of a request with
	// a manifest, of WatchMany, and of others.
	manifestGrowth = 64
	watchGrowth    = 256
	requestGrowth  = 96
	// maxGrownBytes bounds the memory of a decoded request with maxValues.
	maxGrownBytes = 16 * maxRequestBytes
)

// boundRequests bounds the length of a request, both as it is sent and decompressed.
func boundRequests(spec connect.Spec) []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithReadMaxBytes(int(maxBytesOf(spec.Procedure)))}
}

const (
	// smallRequestBytes is the length of a request that is decoded without reservation: however many callers
	// have reserved all of the memory, small requests do not wait for it.
	smallRequestBytes = 4 << 10
	// largeRequestBytes is the length of a request above which memory is reserved before the rest is received.
	largeRequestBytes = maxRequestBytes
)

// reserve receives the request, and then reserves for its caller the memory that it takes to decode it. So a client
// that sends slowly holds nothing that others wait for, and one that waits does not block the other requests of
// its connection. Only the rest of a large request, which has a manifest, needs a reservation to be received.
//
// The reservation of a stream ends when its request is decoded: from then on the ledger has it. Other
// reservations end when the handler has returned, before the response is sent.
func (g *gate) reserve(ctx context.Context, c *call, spec connect.Spec, name string) error {
	if isBidi(spec) {
		return nil
	}
	limit := maxBytesOf(spec.Procedure)
	length, compressed := lengthOf(c, limit)
	received := c.body.receive(min(limit, largeRequestBytes) + prefixBytes)
	if received > largeRequestBytes+prefixBytes {
		release, err := g.acquire(ctx, g.received, name, length, LimitRequestBytes, tooManyBytes)
		if err != nil {
			return err
		}
		c.requestUntilDecoded(release)
		received = c.body.receive(limit + prefixBytes)
	}
	if late := (*connect.Error)(nil); errors.As(c.body.err, &late) {
		return late
	}
	if !compressed && c.request.Method != http.MethodGet {
		length = min(length, received)
	}
	if length <= smallRequestBytes {
		return nil
	}
	release, err := g.acquire(ctx, g.requests, name, decodedBytes(spec.Procedure, length), LimitRequestBytes, tooManyBytes)
	if err != nil {
		return err
	}
	c.requestUntilDecoded(release)
	return nil
}

const tooManyBytes = "request size limit reached: too many bytes of requests are in progress"

// prefixBytes is the length of the prefix of a message in gRPC, gRPC-Web and streams of Connect: a
// byte of flags, and the length of the message.
const prefixBytes = 5

// lengthOf returns the maximum length of a message when it is decompressed, and whether it is compressed.
func lengthOf(c *call, limit int64) (length int64, compressed bool) {
	r := c.request
	switch {
	case r.Method == http.MethodGet:
		compressed = strings.Contains(r.URL.RawQuery, "compression=")
		length = int64(len(r.URL.RawQuery))
	case isEnveloped(r.Header.Get("Content-Type")):
		length, compressed = lengthInPrefix(c.body)
	default:
		compressed = !isPlain(r.Header.Get("Content-Encoding"))
		length = r.ContentLength
	}
	if compressed || length < 0 {
		return limit, compressed
	}
	return min(length, limit), false
}

func isEnveloped(contentType string) bool {
	return strings.HasPrefix(contentType, "application/grpc") || strings.HasPrefix(contentType, "application/connect+")
}

func isPlain(encoding string) bool { return encoding == "" || encoding == "identity" }

// lengthInPrefix returns the length in the prefix of a message, and whether the message is compressed. The length is
// 0 for a request without a prefix, which connect rejects.
func lengthInPrefix(b *body) (length int64, compressed bool) {
	prefix := b.peek(prefixBytes)
	if len(prefix) < prefixBytes {
		return 0, false
	}
	return int64(binary.BigEndian.Uint32(prefix[1:])), prefix[0] != 0
}
