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

// reserve reserves the maximum bytes of the request for its caller. It releases those of a stream
// when the request has been received, and others when the handler has returned.
func (g *gate) reserve(ctx context.Context, c *call, spec connect.Spec, name string) error {
	if isBidi(spec) {
		return nil
	}
	weight := decodedBytes(spec.Procedure, weightOf(c, maxBytesOf(spec.Procedure)))
	if late := (*connect.Error)(nil); errors.As(c.body.err, &late) {
		return late
	}
	release, err := g.acquire(ctx, g.requests, name, weight, LimitRequestBytes, "request size limit reached: too many bytes of your requests are in progress")
	if err != nil {
		return err
	}
	if isStream(spec) {
		c.body.whenReceived(release)
	}
	c.onEnd(release)
	return nil
}

// prefixBytes is the length of the prefix of a message in gRPC, gRPC-Web and streams of Connect: a
// byte of flags, and the length of the message.
const prefixBytes = 5

// weightOf returns the maximum length of a message when it is decompressed.
func weightOf(c *call, limit int64) int64 {
	r := c.request
	switch {
	case r.Method == http.MethodGet && !strings.Contains(r.URL.RawQuery, "compression="):
		return min(int64(len(r.URL.RawQuery)), limit)
	case isEnveloped(r.Header.Get("Content-Type")):
		return weightOfPrefix(c.body, limit)
	case r.Method == http.MethodPost && r.ContentLength >= 0 && isPlain(r.Header.Get("Content-Encoding")):
		return min(r.ContentLength, limit)
	}
	return limit
}

func isEnveloped(contentType string) bool {
	return strings.HasPrefix(contentType, "application/grpc") || strings.HasPrefix(contentType, "application/connect+")
}

func isPlain(encoding string) bool { return encoding == "" || encoding == "identity" }

// weightOfPrefix returns the length in the prefix of a message, or limit if the message is
// compressed. It returns 0 for a request without a prefix, which connect rejects.
func weightOfPrefix(b *body, limit int64) int64 {
	prefix := b.peek(prefixBytes)
	switch {
	case len(prefix) < prefixBytes:
		return 0
	case prefix[0] != 0:
		return limit
	}
	return min(int64(binary.BigEndian.Uint32(prefix[1:])), limit)
}
