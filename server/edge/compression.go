package edge

import (
	"compress/gzip"
	"math"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectgzip"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// Compression is the compression of unary responses for clients that offer it. Streams are never
// compressed: compressing each message of each stream would cost more time than the message.
type Compression string

const (
	// CompressNone sends all responses uncompressed. Nearly all clients offer gzip by default, and
	// a compressed list takes about three times the processor time of an uncompressed one.
	CompressNone Compression = "none"
	// CompressGzip sends unary responses of 4 KiB and more as gzip, at its fastest level.
	CompressGzip Compression = "gzip"
)

// minCompressBytes is the size below which a response is not compressed.
const minCompressBytes = 4 << 10

// options returns the options of all handlers. Compressed requests are accepted in any case.
func (c Compression) options() connecthttp.Option {
	compressor := connectgzip.New(connectgzip.WithLevel(gzip.BestSpeed))
	return connecthttp.WithConditionalOptions(func(spec connect.Spec) []connecthttp.Option {
		minBytes := minCompressBytes
		if c != CompressGzip || call.IsStream(spec) || bounds.IsHealth(spec.Procedure) {
			minBytes = math.MaxInt
		}
		return []connecthttp.Option{connecthttp.WithCompressors(compressor), connecthttp.WithCompressMinBytes(minBytes)}
	})
}
