package gate

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// smallRequestBytes is the length of a request that is decoded without reservation: however many callers
	// have reserved all of the memory, small requests do not wait for it.
	smallRequestBytes = 4 << 10
	// largeRequestBytes is the length of a request above which memory is reserved before the rest is received.
	largeRequestBytes = bounds.MaxRequestBytes
)

// reserve receives the request, and then reserves for its caller the memory that it takes to decode it. So a client
// that sends slowly holds nothing that others wait for, and one that waits does not block the other requests of
// its connection. Only the rest of a large request, which has a manifest, needs a reservation to be received.
//
// The reservation of a stream ends when its request is decoded: from then on the ledger has it. Other
// reservations end when the handler has returned, before the response is sent.
func (g *Gate) reserve(ctx context.Context, c *call.Call, spec connect.Spec, name string) error {
	if call.IsBidi(spec) {
		return nil // it has several requests, which arrive later
	}

	// The request is received up to largeRequestBytes without a reservation: a request that ends before needs
	// none to be received.
	limit := bounds.MaxBytes(spec.Procedure)
	length, compressed := lengthOf(c, limit)
	received := c.Body.Receive(min(limit, largeRequestBytes) + prefixBytes)
	if received > largeRequestBytes+prefixBytes {
		// length is what the client declares, and for a compressed request the limit.
		release, err := g.acquire(ctx, g.received, name, length, callerrors.LimitRequestBytes, tooManyBytes)
		if err != nil {
			return err
		}
		c.OnDecoded(release)
		received = c.Body.Receive(limit + prefixBytes)
	}
	if late := (*connect.Error)(nil); errors.As(c.Body.Err, &late) {
		return late
	}

	// The memory to decode it. What was received bounds the length that was declared, unless decompressing makes it longer.
	if !compressed && c.Request.Method != http.MethodGet {
		length = min(length, received)
	}
	if length <= smallRequestBytes {
		return nil
	}
	release, err := g.acquire(ctx, g.requests, name, min(bounds.DecodedBytes(spec.Procedure, length), maxRequestsOfCaller), callerrors.LimitRequestBytes, tooManyBytes)
	if err != nil {
		return err
	}
	c.OnDecoded(release)
	return nil
}

const tooManyBytes = "request size limit reached: too many bytes of requests are in progress"

// prefixBytes is the length of the prefix of a message in gRPC, gRPC-Web and streams of Connect: a
// byte of flags, and the length of the message.
const prefixBytes = 5

// lengthOf returns the maximum length of a message when it is decompressed, and whether it is compressed.
func lengthOf(c *call.Call, limit int64) (length int64, compressed bool) {
	r := c.Request
	switch {
	case r.Method == http.MethodGet:
		compressed = strings.Contains(r.URL.RawQuery, "compression=")
		length = int64(len(r.URL.RawQuery))
	case isEnveloped(r.Header.Get("Content-Type")):
		length, compressed = lengthInPrefix(c.Body.Peek(prefixBytes))
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
func lengthInPrefix(prefix []byte) (length int64, compressed bool) {
	if len(prefix) < prefixBytes {
		return 0, false
	}
	return int64(binary.BigEndian.Uint32(prefix[1:])), prefix[0] != 0
}
