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

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
