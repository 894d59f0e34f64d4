package server

import (
	"compress/gzip"
	"io"
	"math"

	"connectrpc.com/connect"
)

// Compression says how unary answers are compressed for clients that offer it. Streams are
// never compressed: for each message of each stream it would cost more time than the message.
type Compression string

const (
	// CompressNone sends all answers as they are. Nearly all clients offer gzip by themselves,
	// and a list that is compressed takes about three times the processor time of one that is not.
	CompressNone Compression = "none"
	// CompressGzip sends unary answers of 4 KiB and more as gzip, at its fastest level.
	CompressGzip Compression = "gzip"
)

// minCompressBytes is the size below which compressing an answer is not worth it.
const minCompressBytes = 4 << 10

// options are those of all handlers. Compressed requests are accepted in any case.
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

// withoutCompression sends messages of all sizes as they are.
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
