package budget

import (
	"context"
	"net/http"

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// responseWriter writes the response of one call, and aborts it if the client does not read; see
// [streamlife.Unread]. It is owned by the goroutine of the call's handler.
type responseWriter struct {
	http.ResponseWriter
	unread      streamlife.Unread // has a lock of its own
	beforeWrite func()            // called before each write, when the response has been built
}

// newResponseWriter returns the writer of a call. It ends the processor slot of the call before the first write, because
// a write can block for as long as the client does not read. While other callers wait for the memory of the call, the
// client has less time to read.
func newResponseWriter(ctx context.Context, w http.ResponseWriter, unreadTimeout streamlife.UnreadTimeout, call *callMemory) *responseWriter {
	writer := &responseWriter{ResponseWriter: w, beforeWrite: call.endSlotIfAny}
	writer.unread.Track(ctx, w, unreadTimeout)
	writer.unread.SetGuard(streamlife.Guard{Contended: call.delaysOthers})
	return writer
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (written int, err error) {
	w.beforeWrite()
	return w.unread.Write(w.ResponseWriter, p)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() {
	w.unread.Begin()
	defer w.unread.Pause()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
