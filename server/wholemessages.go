package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// wholeMessages writes what a stream sends in one piece for each flush. Connect writes a message
// as a prefix and a body, and net/http would send each in a frame of its own, at the price of
// another turn of the connection's goroutines. A stream that a client leaves unread for longer
// than patience ends; see [unread].
func wholeMessages(next http.Handler, patience readPatience) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &wholeWriter{ResponseWriter: w}
		whole.unread.follow(r.Context(), w, patience)
		defer whole.Flush()
		next.ServeHTTP(whole, r.WithContext(context.WithValue(r.Context(), writerKey{}, whole)))
	})
}

type writerKey struct{}

// unreadOf returns what looks after the messages of a stream that its client leaves unread.
func unreadOf(ctx context.Context) *unread {
	if whole, ok := ctx.Value(writerKey{}).(*wholeWriter); ok {
		return &whole.unread
	}
	return &unread{} // not a stream
}

// wholeWriter is owned by the handler of one stream. It has a buffer only between a
// write and the end of the flush: an idle stream has none.
type wholeWriter struct {
	http.ResponseWriter
	unread unread
	prefix [8]byte // of a message whose body is yet to be written
	begun  int     // how much of prefix is in use
	failed error
	// gathered is a message that waits for the flush; nil if there is none.
	gathered *[]byte
}

// maxGathered is how large a message may be to be gathered. While the client does not
// read it, a larger one stays in Connect's buffer.
const maxGathered = 64 << 10

// gatherSizes are the sizes of buffers. A small message that stands still keeps a small buffer.
var gatherSizes = [...]int{4 << 10, 16 << 10, maxGathered + 8}

var gatherBuffers = [len(gatherSizes)]sync.Pool{}

// gatherBuffer returns an empty buffer with room for a message, and its pool.
func gatherBuffer(size int) *[]byte {
	for i, room := range gatherSizes {
		if size > room {
			continue
		}
		if buffer, ok := gatherBuffers[i].Get().(*[]byte); ok {
			return buffer
		}
		buffer := make([]byte, 0, room)
		return &buffer
	}
	buffer := make([]byte, 0, size)
	return &buffer
}

func putGatherBuffer(buffer *[]byte) {
	*buffer = (*buffer)[:0]
	if i := slices.Index(gatherSizes[:], cap(*buffer)); i >= 0 {
		gatherBuffers[i].Put(buffer)
	}
}

// Write implements http.ResponseWriter. Its error is that of the last flush.
func (w *wholeWriter) Write(p []byte) (int, error) {
	switch {
	case w.failed != nil:
		return 0, w.failed
	case w.gathered == nil && w.begun+len(p) <= len(w.prefix):
		w.begun += copy(w.prefix[w.begun:], p)
		return len(p), nil
	case w.gathered == nil && len(p) <= maxGathered:
		w.gathered = gatherBuffer(w.begun + len(p))
		*w.gathered = append(*w.gathered, w.prefix[:w.begun]...)
		w.begun = 0
		fallthrough
	case w.gathered != nil && len(*w.gathered)+len(p) <= cap(*w.gathered):
		*w.gathered = append(*w.gathered, p...)
		return len(p), nil
	}
	if err := w.handOn(); err != nil {
		return 0, err
	}
	return w.send(p)
}

// handOn writes what has been gathered.
func (w *wholeWriter) handOn() error {
	if w.failed == nil && w.begun > 0 {
		_, _ = w.send(w.prefix[:w.begun])
	}
	w.begun = 0
	if w.gathered == nil {
		return w.failed
	}
	if w.failed == nil {
		_, _ = w.send(*w.gathered)
	}
	if w.failed == nil { // otherwise net/http may be writing it still
		putGatherBuffer(w.gathered)
	}
	w.gathered = nil
	return w.failed
}

// send writes, and remembers an error.
func (w *wholeWriter) send(p []byte) (sent int, err error) {
	if w.failed == nil {
		sent, w.failed = w.unread.write(w.ResponseWriter, p)
	}
	return sent, w.failed
}

// Flush implements http.Flusher. Where a message cannot be sent, the next Write says so.
func (w *wholeWriter) Flush() {
	if w.handOn() == nil {
		w.unread.begin()
		if err := http.NewResponseController(w.ResponseWriter).Flush(); !errors.Is(err, http.ErrNotSupported) {
			w.failed = err
		}
		w.unread.pause()
	}
	w.unread.end()
}

// Unwrap is for http.ResponseController.
func (w *wholeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
