package server

import (
	"context"
	"net/http"
	"time"
)

// answerPatience is how long a client may take to read a whole unary answer.
const answerPatience = 2 * time.Minute

// answerWriter writes the answer of one call, and breaks it off when the client does not read
// it; see [unread]. It is owned by the goroutine of the call's handler.
type answerWriter struct {
	http.ResponseWriter
	unread unread
	made   func() // called before each write: what is written has been made
}

func newAnswerWriter(ctx context.Context, w http.ResponseWriter, patience readPatience, guarded guard) *answerWriter {
	writer := &answerWriter{ResponseWriter: w, made: func() {}}
	writer.unread.patience, writer.unread.ctx, writer.unread.cut = patience, ctx, writer.cut
	writer.unread.guarded = guarded
	return writer
}

// Write implements http.ResponseWriter. It writes in chunks: the client makes progress with each.
func (w *answerWriter) Write(p []byte) (written int, err error) {
	w.made()
	w.unread.begin()
	defer w.unread.pause()
	for written < len(p) && err == nil {
		var n int
		n, err = w.ResponseWriter.Write(p[written:min(len(p), written+maxChunk)])
		written += n
		w.unread.progress()
	}
	return written, err
}

// Flush implements http.Flusher.
func (w *answerWriter) Flush() {
	w.unread.begin()
	defer w.unread.pause()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// cut ends the call. A deadline that has passed is set only then: it would stay with a connection of
// HTTP/1.1, and each change of it costs a turn of HTTP/2's goroutine.
func (w *answerWriter) cut() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
