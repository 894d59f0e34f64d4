package streamlife

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// CoalesceWrites writes the data of a stream in one piece for each flush. Connect writes a message
// as a prefix and a body, and net/http would send each of them in a frame of its own, which wakes
// the connection's goroutines twice. A stream whose client leaves a message unread for longer than
// the timeout ends; see [Unread].
func CoalesceWrites(next http.Handler, timeout UnreadTimeout) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writer := &coalescingWriter{ResponseWriter: w}
		writer.unread.Track(r.Context(), w, timeout)
		defer writer.Flush()
		next.ServeHTTP(writer, r.WithContext(context.WithValue(r.Context(), writerKey{}, writer)))
	})
}

type writerKey struct{}

// UnreadOf returns the tracker of a stream's unread messages.
func UnreadOf(ctx context.Context) *Unread {
	if writer, ok := ctx.Value(writerKey{}).(*coalescingWriter); ok {
		return &writer.unread
	}
	return &Unread{} // not a stream
}

// coalescingWriter joins the writes of one stream. It is owned by the stream's handler. It has a
// buffer only between a write and the end of the flush, so an idle stream has none.
type coalescingWriter struct {
	http.ResponseWriter
	unread Unread
	prefix [8]byte // of a message whose body has not been written yet
	begun  int     // number of used bytes of prefix
	failed error
	// gathered is the buffered message until the flush; nil if there is none.
	gathered *[]byte
}

// maxGathered is the maximum size of a buffered message. A larger one stays in Connect's buffer
// while the client does not read it.
const maxGathered = 64 << 10

// gatherSizes are the sizes of buffers. A small message that is left unread keeps a small buffer.
var gatherSizes = [...]int{4 << 10, 16 << 10, maxGathered + 8}

var gatherBuffers = [len(gatherSizes)]sync.Pool{}

// gatherBuffer returns an empty buffer with capacity for a message of the given size.
func gatherBuffer(size int) *[]byte {
	for i, capacity := range gatherSizes {
		if size > capacity {
			continue
		}
		if buffer, ok := gatherBuffers[i].Get().(*[]byte); ok {
			return buffer
		}
		buffer := make([]byte, 0, capacity)
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

// Write implements http.ResponseWriter. It returns the error of the last flush.
func (w *coalescingWriter) Write(p []byte) (int, error) {
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

// handOn writes the buffered data.
func (w *coalescingWriter) handOn() error {
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
	if w.failed == nil { // otherwise net/http may still be writing it
		putGatherBuffer(w.gathered)
	}
	w.gathered = nil
	return w.failed
}

// send writes p, and keeps the first error.
func (w *coalescingWriter) send(p []byte) (sent int, err error) {
	if w.failed == nil {
		sent, w.failed = w.unread.Write(w.ResponseWriter, p)
	}
	return sent, w.failed
}

// Flush implements http.Flusher. If a message cannot be sent, the next Write returns the error.
func (w *coalescingWriter) Flush() {
	if w.handOn() == nil {
		w.unread.Begin()
		if err := http.NewResponseController(w.ResponseWriter).Flush(); !errors.Is(err, http.ErrNotSupported) {
			w.failed = err
		}
		w.unread.Pause()
	}
	w.unread.end()
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *coalescingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
