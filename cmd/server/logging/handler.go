package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"k8s.io/klog/v2"
)

// The values of --log-format.
const (
	Text = "text"
	JSON = "json"
)

// Levels are the values of --log-level.
var Levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// NewHandler returns the handler of all log lines. Warnings are not repeated.
func NewHandler(w io.Writer, format string, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: nameLevel}
	if format == JSON {
		return withoutRepeats(slog.NewJSONHandler(escapingWriter{w}, options))
	}
	return withoutRepeats(slog.NewTextHandler(w, options))
}

// escapingWriter escapes in lines of JSON what is not printable, as the text format does: slog leaves
// controls of terminals above ASCII, and those that reverse the direction of text, as they are.
type escapingWriter struct{ io.Writer }

// Write implements io.Writer. slog writes each line at once.
func (w escapingWriter) Write(line []byte) (int, error) {
	isEscaped := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(line, isEscaped) < 0 {
		return w.Writer.Write(line)
	}
	var escaped []byte
	for _, r := range string(line) {
		if !isEscaped(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	_, err := w.Writer.Write(escaped)
	return len(line), err
}

// nameLevel replaces levels such as DEBUG+2 by those of --log-level.
func nameLevel(groups []string, attribute slog.Attr) slog.Attr {
	level, ok := attribute.Value.Any().(slog.Level)
	if len(groups) > 0 || attribute.Key != slog.LevelKey || !ok {
		return attribute
	}
	name := slog.LevelError
	for _, above := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo} {
		if level < above {
			name = above - 4
		}
	}
	return slog.String(slog.LevelKey, name.String())
}

// client-go logs to slog's default handler. The logger is set once, before client-go runs, because
// klog reads it without a lock.
func init() {
	unchanged := func(handler slog.Handler) slog.Handler { return handler }
	klog.SetSlogLogger(slog.New(libraryHandler{unchanged}))
}

// libraryHandler forwards the records of client-go to the current default handler of slog. What
// client-go reports as information, such as each connection that is closed, is for debugging only. What
// it reports as an error is a warning, because the API server or the network has caused it.
type libraryHandler struct {
	derive func(slog.Handler) slog.Handler // adds attributes and groups
}

func (h libraryHandler) current() slog.Handler { return h.derive(slog.Default().Handler()) }

// panicOfLibrary is the message of client-go about a panic, which is a fault of the service.
const panicOfLibrary = "Observed a panic"

// handleFailedReflector logs the error of a list or a watch as a line of the service, without client-go's own attributes.
func handleFailedReflector(ctx context.Context, record slog.Record) error {
	line := slog.NewRecord(record.Time, slog.LevelWarn, "the API server does not list or watch a resource", record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		if attribute.Key == "err" {
			line.AddAttrs(slog.Any("error", attribute.Value))
		}
		return true
	})
	return slog.Default().Handler().Handle(ctx, line)
}

// Messages of client-go about failed requests. The service logs by itself that discovery fails.
const (
	failedReflector = "Failed to watch"
	failedDiscovery = "Couldn't get current server API group list"
)

// levelOfLibrary returns the level of records of client-go. Levels below debug, at which client-go
// reports requests with their headers and bodies, are never logged.
func levelOfLibrary(level slog.Level) slog.Level {
	switch {
	case level >= slog.LevelWarn:
		return slog.LevelWarn
	case level >= slog.LevelDebug:
		return slog.LevelDebug
	}
	return level
}

// Enabled implements [slog.Handler].
func (h libraryHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.current().Enabled(ctx, levelOfLibrary(level))
}

// Handle implements [slog.Handler].
func (h libraryHandler) Handle(ctx context.Context, record slog.Record) error {
	switch record.Message {
	case panicOfLibrary:
	case failedReflector:
		return handleFailedReflector(ctx, record)
	case failedDiscovery:
		record.Level = slog.LevelDebug
		if !h.current().Enabled(ctx, record.Level) {
			return nil
		}
	default:
		record.Level = levelOfLibrary(record.Level)
	}
	return h.current().Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h libraryHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return libraryHandler{func(base slog.Handler) slog.Handler { return h.derive(base).WithAttrs(attributes) }}
}

// WithGroup implements [slog.Handler].
func (h libraryHandler) WithGroup(name string) slog.Handler {
	return libraryHandler{func(base slog.Handler) slog.Handler { return h.derive(base).WithGroup(name) }}
}
