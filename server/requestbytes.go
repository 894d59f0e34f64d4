package server

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
	// maxManifestBytes bounds a request with a manifest: a little more than the API server takes.
	maxManifestBytes = 4 << 20
	// maxRequestBytes bounds other requests: a little more than the longest texts that are taken,
	// which are selectors and filters.
	maxRequestBytes = 256 << 10
	// maxQuestionsBytes bounds a request of CheckAccess, which could have a question in 2 bytes.
	maxQuestionsBytes = 64 << 10
	// maxHealthRequestBytes bounds a request that needs no authentication, and those of
	// reflection.
	maxHealthRequestBytes = 4 << 10
)

// maxBytesOf is how long a request of a procedure may be.
func maxBytesOf(procedure string) int64 {
	switch procedure {
	case kubeconnectv1connect.ResourceServiceCreateProcedure,
		kubeconnectv1connect.ResourceServiceUpdateProcedure,
		kubeconnectv1connect.ResourceServicePatchProcedure:
		return maxManifestBytes
	case kubeconnectv1connect.AccessServiceCheckAccessProcedure:
		return maxQuestionsBytes
	}
	if strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1ServiceName+"/") || strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1AlphaServiceName+"/") {
		return maxHealthRequestBytes
	}
	return maxRequestBytes
}

// growthOf is how much more than others a request of a procedure weighs, because it becomes longer when
// it is decoded: a question or a watch of 2 bytes takes more than 100, and so does a number in a
// manifest that is a google.protobuf.Value. So the largest ones of a caller are decoded one by one.
func growthOf(procedure string) int64 {
	switch procedure {
	case kubeconnectv1connect.AccessServiceCheckAccessProcedure,
		kubeconnectv1connect.ResourceServiceWatchManyProcedure:
		return 64
	case kubeconnectv1connect.ResourceServiceCreateProcedure,
		kubeconnectv1connect.ResourceServiceUpdateProcedure,
		kubeconnectv1connect.ResourceServicePatchProcedure:
		return maxRequestsOfCaller / maxManifestBytes
	}
	return 1
}

// boundRequests bounds a request, as it is sent and when it is decompressed.
func boundRequests(spec connect.Spec) []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithReadMaxBytes(int(maxBytesOf(spec.Procedure)))}
}

// reserve takes as many bytes as the request can have, for its caller. Those of a stream are held
// until the request has been received, others until the handler has returned.
func (g *gate) reserve(ctx context.Context, c *call, spec connect.Spec, name string) error {
	if isBidi(spec) {
		return nil
	}
	weight := weightOf(c, maxBytesOf(spec.Procedure)) * growthOf(spec.Procedure)
	if late := (*connect.Error)(nil); errors.As(c.body.failed, &late) {
		return late
	}
	release, err := g.acquire(ctx, g.requests, name, weight, "your requests under way are as large as those of one caller may be at a time")
	if err != nil {
		return err
	}
	if isStream(spec) {
		c.body.whenReceived(release)
	}
	c.atEnd(release)
	return nil
}

// prefixBytes is what a message begins with in gRPC, gRPC-Web and streams of Connect: a byte of
// flags, and its length.
const prefixBytes = 5

// weightOf returns how long a message can be when it is decoded.
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

// weightOfPrefix returns the length that a message begins with, and limit if it is compressed.
// What is wrong with a request without that is for connect to say.
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
