package server

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

// sendPatience is how long a client may leave a message of a watch unread. Then the stream
// ends: it can be resumed with the last token, and until then it costs no memory.
const sendPatience = 2 * time.Minute

// wholeMessages hands on what a stream writes in one piece for each flush. A message
// is written as a prefix and a body, and net/http would send each in a frame of its
// own, at the price of another turn of the connection's goroutines. A stream of which a
// write is blocked for longer than patience ends; with 0, none does.
func wholeMessages(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &wholeWriter{ResponseWriter: w, patience: patience}
		defer whole.Flush()
		next.ServeHTTP(whole, r)
	})
}

// wholeWriter is owned by the handler of one stream. It has a buffer only between a
// write and a flush: an idle stream has none.
type wholeWriter struct {
	http.ResponseWriter
	patience time.Duration
	overdue  *time.Timer   // ends the stream; nil before the first write
	ended    chan struct{} // has a value when it has
	written  *bytes.Buffer
	failed   error
}

var writeBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBytes is how large a buffer may be to be used again.
const maxPooledBytes = 64 << 10

// Write implements http.ResponseWriter. Its error is that of the last flush.
func (w *wholeWriter) Write(p []byte) (int, error) {
	if w.failed != nil {
		return 0, w.failed
	}
	if w.written == nil && len(p) > maxPooledBytes {
		return w.send(p)
	}
	if w.written == nil {
		w.written = writeBuffers.Get().(*bytes.Buffer)
	}
	if w.written.Len()+len(p) <= maxPooledBytes {
		return w.written.Write(p)
	}
	if err := w.handOn(); err != nil {
		return 0, err
	}
	return w.send(p)
}

// send writes, and has the stream end if that takes too long.
func (w *wholeWriter) send(p []byte) (int, error) {
	defer w.expect()()
	return w.ResponseWriter.Write(p)
}

// expect has the stream end when patience is over, until the function that it returns is
// called. A timer costs less than a deadline for each write, which is a turn of the
// connection's goroutine.
func (w *wholeWriter) expect() (done func()) {
	switch {
	case w.patience == 0:
		return func() {}
	case w.overdue == nil:
		w.ended = make(chan struct{}, 1)
		w.overdue = time.AfterFunc(w.patience, func() {
			_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
			w.ended <- struct{}{}
		})
	default:
		w.overdue.Reset(w.patience)
	}
	return func() {
		if !w.overdue.Stop() {
			<-w.ended // the handler must not return before it
		}
	}
}

// handOn writes what has been gathered.
func (w *wholeWriter) handOn() error {
	if w.written == nil {
		return w.failed
	}
	_, w.failed = w.send(w.written.Bytes())
	w.written.Reset()
	writeBuffers.Put(w.written)
	w.written = nil
	return w.failed
}

// Flush implements http.Flusher.
func (w *wholeWriter) Flush() {
	if w.handOn() == nil {
		defer w.expect()()
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (w *wholeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
