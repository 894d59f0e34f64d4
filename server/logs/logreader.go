package logs

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// maxPieceBytes bounds the piece of a log that is sent, and buffered, at one time.
const maxPieceBytes = 64 << 10

// logReader reads a log as it arrives from the API server, at most one piece ahead. A slow client
// slows down the log's source by TCP flow control, and nothing is dropped. It is owned by the
// stream's handler, except for the part of the buffer that a pending read fills.
type logReader struct {
	body    io.ReadCloser
	cancel  context.CancelFunc // ends a pending read
	reading sync.WaitGroup
	read    chan logRead // the result of the pending read

	buffer     []byte
	begin, end int // the bytes that have not been taken
}

// logRead is the result of a read: the number of bytes, and the error that ended the log.
type logRead struct {
	count int
	err   error
}

func newLogReader(body io.ReadCloser, cancel context.CancelFunc) *logReader {
	return &logReader{body: body, cancel: cancel, read: make(chan logRead, 1), buffer: make([]byte, maxPieceBytes)}
}

// startRead starts the next read, into the buffer after the bytes that have not been taken. The
// read has its own goroutine, because the sender also waits for other events. Bytes that have been
// taken are overwritten.
func (l *logReader) startRead() {
	l.begin, l.end = 0, copy(l.buffer, l.buffer[l.begin:l.end])
	free := l.buffer[l.end:]
	l.reading.Go(func() {
		count, err := l.body.Read(free)
		l.read <- logRead{count, err}
	})
}

// add appends the bytes of a completed read.
func (l *logReader) add(count int) { l.end += count }

// takeLines returns all complete lines, or a part of a line that fills the buffer.
func (l *logReader) takeLines() []byte {
	count := bytes.LastIndexByte(l.buffer[l.begin:l.end], '\n') + 1
	if l.end-l.begin == len(l.buffer) && count == 0 {
		count = len(l.buffer)
	}
	return l.take(count)
}

// takeAll returns all bytes. A read may be pending: it fills the buffer after these bytes.
func (l *logReader) takeAll() []byte { return l.take(l.end - l.begin) }

func (l *logReader) take(count int) []byte {
	taken := l.buffer[l.begin : l.begin+count]
	l.begin += count
	return taken
}

// close closes the log at its source. It returns when no read is pending.
func (l *logReader) close() {
	l.cancel()
	l.reading.Wait()
	_ = l.body.Close()
}
