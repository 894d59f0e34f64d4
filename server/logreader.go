package server

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// maxPieceBytes is how much of a log is sent, and kept, at one time.
const maxPieceBytes = 64 << 10

// logReader reads a log as it comes from the API server, one piece ahead at most: a slow
// caller slows the log's source down, by TCP, and nothing is dropped. It is owned by the
// stream's handler, but for what a read under way fills.
type logReader struct {
	body    io.ReadCloser
	cancel  context.CancelFunc // ends a read under way
	reading sync.WaitGroup
	read    chan logRead // what the read under way has brought

	buffer     []byte
	begin, end int // of what has not been taken
}

// logRead is how much a read has brought, and what has ended the log.
type logRead struct {
	count int
	err   error
}

func newLogReader(body io.ReadCloser, cancel context.CancelFunc) *logReader {
	return &logReader{body: body, cancel: cancel, read: make(chan logRead, 1), buffer: make([]byte, maxPieceBytes)}
}

// readOn begins the next read, behind what has not been taken. It has a goroutine of its
// own, for it cannot be waited for together with anything else. What has been taken is
// overwritten.
func (l *logReader) readOn() {
	l.begin, l.end = 0, copy(l.buffer, l.buffer[l.begin:l.end])
	room := l.buffer[l.end:]
	l.reading.Go(func() {
		count, err := l.body.Read(room)
		l.read <- logRead{count, err}
	})
}

// add adds what a read has brought.
func (l *logReader) add(count int) { l.end += count }

// takeLines takes all whole lines, or a part of one that fills the buffer.
func (l *logReader) takeLines() []byte {
	count := bytes.LastIndexByte(l.buffer[l.begin:l.end], '\n') + 1
	if l.end-l.begin == len(l.buffer) && count == 0 {
		count = len(l.buffer)
	}
	return l.take(count)
}

// takeAll takes what there is. A read may be under way: it fills what is behind that.
func (l *logReader) takeAll() []byte { return l.take(l.end - l.begin) }

func (l *logReader) take(count int) []byte {
	taken := l.buffer[l.begin : l.begin+count]
	l.begin += count
	return taken
}

// close closes the log at its source, and returns when no read is under way any more.
func (l *logReader) close() {
	l.cancel()
	l.reading.Wait()
	_ = l.body.Close()
}
