package edge

import (
	"compress/gzip"
	"io"
	"math"

	"connectrpc.com/connect"
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
func (c Compression) options() connect.HandlerOption {
	if c != CompressGzip {
		return withoutCompression
	}
	return connect.WithHandlerOptions(
		connect.WithCompression("gzip", newGzipReader, newFastGzipWriter),
		connect.WithCompressMinBytes(minCompressBytes),
		connect.WithConditionalHandlerOptions(plainStreams),
	)
}

// withoutCompression sends messages of all sizes uncompressed.
var withoutCompression = connect.WithCompressMinBytes(math.MaxInt)

func plainStreams(spec connect.Spec) []connect.HandlerOption {
	if spec.StreamType != connect.StreamTypeServer {
		return nil
	}
	return []connect.HandlerOption{withoutCompression}
}

func newGzipReader() connect.Decompressor { return new(gzip.Reader) }

func newFastGzipWriter() connect.Compressor {
	writer, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return writer
}
