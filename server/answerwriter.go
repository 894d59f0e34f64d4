package server

import (
	"net/http"
	"time"
)

// answerTiming is how long a client may take to read a unary answer.
type answerTiming struct {
	progress time.Duration // for each piece
	whole    time.Duration // for all of it
}

// answerPiece is how much of an answer a client must read in answerTiming.progress.
const answerPiece = 64 << 10

// answerWriter writes the answer of one call, and breaks it off when the client does not read
// it. It is owned by the goroutine of the call's handler.
type answerWriter struct {
	http.ResponseWriter
	timing  answerTiming
	until   time.Time   // when the whole answer must have been read
	overdue *time.Timer // breaks the answer off; nil before the first write
	ended   chan struct{}
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		var n int
		n, err = w.writePiece(p[:min(len(p), answerPiece)])
		written, p = written+n, p[n:]
	}
	return written, err
}

func (w *answerWriter) writePiece(p []byte) (int, error) {
	defer w.expect()()
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *answerWriter) Flush() {
	defer w.expect()()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// expect breaks the answer off when the client has not read for too long, until the function
// that it returns is called.
func (w *answerWriter) expect() (done func()) {
	if w.overdue == nil {
		w.ended = make(chan struct{}, 1)
		w.until = time.Now().Add(w.timing.whole)
		w.overdue = time.AfterFunc(min(w.timing.progress, w.timing.whole), w.breakOff)
	} else {
		w.overdue.Reset(max(0, min(w.timing.progress, time.Until(w.until))))
	}
	return func() {
		if !w.overdue.Stop() {
			<-w.ended // the handler must not return before breakOff
		}
	}
}

// breakOff ends the writes of an answer. A deadline that has passed is set only then: it would
// stay with a connection of HTTP/1.1, and each change of it costs a turn of HTTP/2's goroutine.
func (w *answerWriter) breakOff() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
	w.ended <- struct{}{}
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
