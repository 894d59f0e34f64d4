package logs

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/streams"
)

// maxPieceBytes bounds the piece of a log that is sent, and buffered, at one time.
const maxPieceBytes = 64 << 10

// logReader reads a log as it arrives from the API server, at most one piece ahead. A slow client
// slows down the log's source by TCP flow control, and nothing is dropped. It is owned by the
// stream's handler, except for the part of the buffer that a pending read fills.
//
// At most one read is pending. It fills the buffer behind end, and the handler reads the buffer before end, so they need no
// lock. startRead moves bytes within the buffer, and is called only when no read is pending.
type logReader struct {
	// Set once.
	body    io.ReadCloser
	cancel  context.CancelFunc // ends a pending read
	reading sync.WaitGroup     // the pending read
	read    chan logRead       // the result of the pending read; with room for it, so that the read never blocks

	// Owned by the handler, but for the bytes behind end while a read is pending.
	buffer     []byte
	begin, end int // the bytes that have not been taken
}

// logRead is the result of a read: the number of bytes, and the error that ended the log.
type logRead struct {
	count int
	err   error
}

// newLogReader returns a reader of an open log. cancel must end a pending Read of body.
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

// add appends the bytes of a completed read, which are behind end already.
func (l *logReader) add(count int) { l.end += count }

// takeLines returns all complete lines, or a part of a line that fills the buffer. The result is valid until the
// next startRead.
func (l *logReader) takeLines() []byte {
	count := bytes.LastIndexByte(l.buffer[l.begin:l.end], '\n') + 1
	if l.end-l.begin == len(l.buffer) && count == 0 {
		count = len(l.buffer)
	}
	return l.take(count)
}

// takeAll returns all bytes. A read may be pending: it fills the buffer after these bytes.
func (l *logReader) takeAll() []byte { return l.take(l.end - l.begin) }

// take returns the next bytes, which then count as taken. It does not copy them.
func (l *logReader) take(count int) []byte {
	taken := l.buffer[l.begin : l.begin+count]
	l.begin += count
	return taken
}

// close closes the log at its source. It returns when no read is pending: the goroutine of a read must not outlive the call. A read
// that is canceled leaves its result in the channel.
func (l *logReader) close() {
	l.cancel()
	l.reading.Wait()
	_ = l.body.Close()
}

// logSender sends one log. It is owned by the stream's handler.
type logSender struct {
	leasedSender
	stream kubeconnectv1connect.PodServiceGetLogsServerStream // set once, like log
	log    *logReader
	idle   bool // no data has arrived since the last call of forwardIdle
}

// newLogSender returns the sender of an open log.
func newLogSender(stream kubeconnectv1connect.PodServiceGetLogsServerStream, log *logReader, lease *access.Lease, unread *fairqueue.Queue) *logSender {
	sendEmpty := func() error { return stream.Send(&kubeconnectv1.GetLogsResponse{}) }
	return &logSender{stream: stream, log: log, leasedSender: leasedSender{lease, unread, sendEmpty}}
}

// follow sends the log's data until the log ends or the client disconnects. A read is always pending when it waits.
func (s *logSender) follow(ctx context.Context) error {
	still := time.NewTimer(standstill)
	defer still.Stop()
	s.log.startRead()
	for {
		if ended, err := s.step(ctx, still); ended || err != nil {
			return err
		}
		if err := s.lease.RenewUntilValid(ctx, func() error { return s.sendWithheld(ctx, 1) }); err != nil {
			return err
		}
	}
}

// step waits for data, for the idle timer, or until the lease is due, and sends what is to be sent.
func (s *logSender) step(ctx context.Context, still *time.Timer) (ended bool, err error) {
	period, cancel := s.lease.Period(ctx)
	defer cancel()
	select {
	case read := <-s.log.read:
		if ended, err := s.forward(ctx, read); ended || err != nil {
			return ended, err
		}
		s.log.startRead()
		still.Reset(standstill)
	case <-still.C:
		if err := s.forwardIdle(ctx); err != nil {
			return false, err
		}
		still.Reset(streams.BookmarkInterval)
	case <-s.lease.Changed: // follow renews the lease
	case <-period.Done():
		return false, context.Cause(ctx) // nil at the end of the period alone
	}
	return false, nil
}

// forwardIdle sends an incomplete line when no data has arrived for a second, and then an empty
// message at each BookmarkInterval without data.
func (s *logSender) forwardIdle(ctx context.Context) error {
	// A read is pending, and continues to fill the buffer behind the piece while the piece is sent.
	piece := s.log.takeAll()
	if len(piece) > 0 || s.idle {
		if err := s.sendMessage(ctx, piece); err != nil {
			return err
		}
	}
	s.idle = true
	return nil
}

// forward sends the lines that a read has completed. At the end of the log it sends everything that
// is left.
func (s *logSender) forward(ctx context.Context, read logRead) (ended bool, err error) {
	s.log.add(read.count)
	s.idle = false
	if read.err == nil {
		return false, s.send(ctx, s.log.takeLines())
	}
	if err := s.send(ctx, s.log.takeAll()); err != nil {
		return true, err
	}
	return true, whyEnded(ctx, read.err)
}

// send sends a piece of the log unless it is empty.
func (s *logSender) send(ctx context.Context, piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	return s.sendMessage(ctx, piece)
}

// sendMessage sends a piece of the log under a valid lease. It also sends an empty piece, because
// proxies may close a silent stream.
func (s *logSender) sendMessage(ctx context.Context, piece []byte) error {
	return s.sendPermitted(ctx, 1, func() error { return s.stream.Send(&kubeconnectv1.GetLogsResponse{Data: piece}) })
}

// standstill is the time without new data after which an incomplete line of a log is sent.
const standstill = time.Second
