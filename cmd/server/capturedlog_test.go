package main

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// capturedLog is the log output of a test.
type capturedLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func captureLog(t *testing.T) *capturedLog {
	t.Helper()
	return captureLogAt(t, slog.LevelInfo)
}

func captureLogAt(t *testing.T, level slog.Level) *capturedLog {
	t.Helper()
	captured, before := &capturedLog{}, slog.Default()
	slog.SetDefault(slog.New(newLogHandler(captured, logText, level)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return captured
}

func (l *capturedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *capturedLog) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}
