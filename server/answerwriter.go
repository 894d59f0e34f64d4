package server

import (
	"context"
	"net/http"
	"time"
)

// responsePatience is the time within which a client must have read a unary response.
const responsePatience = 2 * time.Minute

// responseWriter writes the response of one call, and aborts it if the client does not read; see
// [unread]. It is owned by the goroutine of the call's handler.
type responseWriter struct {
	http.ResponseWriter
	unread      unread
	beforeWrite func() // called before each write, when the response has been built
}

func newResponseWriter(ctx context.Context, w http.ResponseWriter, patience readPatience, call *callMemory) *responseWriter {
	writer := &responseWriter{ResponseWriter: w, beforeWrite: call.endSlotIfAny}
	writer.unread.follow(ctx, w, patience)
	writer.unread.guarded = guard{awaited: call.delaysOthers}
	return writer
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (written int, err error) {
	w.beforeWrite()
	return w.unread.write(w.ResponseWriter, p)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() {
	w.unread.begin()
	defer w.unread.pause()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
