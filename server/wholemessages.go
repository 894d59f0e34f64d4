package server

import (
	"bytes"
	"net/http"
	"sync"
)

// wholeMessages hands on what a stream writes in one piece for each flush. A message
// is written as a prefix and a body, and net/http would send each in a frame of its
// own, at the price of another turn of the connection's goroutines.
func wholeMessages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &wholeWriter{ResponseWriter: w}
		defer whole.Flush()
		next.ServeHTTP(whole, r)
	})
}

// wholeWriter is owned by the handler of one stream. It has a buffer only between a
// write and a flush: an idle stream has none.
type wholeWriter struct {
	http.ResponseWriter
	written *bytes.Buffer
	failed  error
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
		return w.ResponseWriter.Write(p)
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
	return w.ResponseWriter.Write(p)
}

// handOn writes what has been gathered.
func (w *wholeWriter) handOn() error {
	if w.written == nil {
		return w.failed
	}
	_, w.failed = w.ResponseWriter.Write(w.written.Bytes())
	w.written.Reset()
	writeBuffers.Put(w.written)
	w.written = nil
	return w.failed
}

// Flush implements http.Flusher.
func (w *wholeWriter) Flush() {
	if w.handOn() == nil {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (w *wholeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
