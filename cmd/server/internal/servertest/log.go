package servertest

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Log is the log output of a test. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// CaptureLog returns what is logged as text until the test ends, from the level information on.
func CaptureLog(t *testing.T) *Log {
	t.Helper()
	return CaptureLogBy(t, func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) })
}

// CaptureLogBy returns what a handler writes until the test ends.
func CaptureLogBy(t *testing.T, newHandler func(io.Writer) slog.Handler) *Log {
	t.Helper()
	captured, before := &Log{}, slog.Default()
	slog.SetDefault(slog.New(newHandler(captured)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return captured
}

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often some words are in the lines.
func (l *Log) Count(words string) int { return strings.Count(l.String(), words) }
