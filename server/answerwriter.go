package server

import (
	"context"
	"net/http"
	"time"
)

// answerPatience is the time within which a client must have read a unary response.
const answerPatience = 2 * time.Minute

// answerWriter writes the response of one call, and aborts it if the client does not read; see
// [unread]. It is owned by the goroutine of the call's handler.
type answerWriter struct {
	http.ResponseWriter
	unread unread
	made   func() // called before each write, when the response has been built
}

func newAnswerWriter(ctx context.Context, w http.ResponseWriter, patience readPatience, call *answer) *answerWriter {
	writer := &answerWriter{ResponseWriter: w, made: call.made}
	writer.unread.follow(ctx, w, patience)
	writer.unread.guarded = guard{awaited: call.isAwaited}
	return writer
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(p []byte) (written int, err error) {
	w.made()
	return w.unread.write(w.ResponseWriter, p)
}

// Flush implements http.Flusher.
func (w *answerWriter) Flush() {
	w.unread.begin()
	defer w.unread.pause()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
