package logging

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// repeatsInterval is the interval in which repeatsBurst lines of each kind of warning are logged: a
	// state that changes some times, such as the contact to the API server, has a line for each change. The
	// number of the others is logged at its end.
	repeatsInterval = time.Minute
	repeatsBurst    = 3
	// maxKinds bounds the kinds of one message in an interval, and maxMessages the messages. The kinds
	// above maxKinds are one kind, and so are the messages above maxMessages.
	maxKinds, maxMessages = 100, 100
	// maxKindText bounds the bytes of a kind that are compared.
	maxKindText = 1 << 10
)

// repeats is a handler that bounds the warnings of all parts of the service: an API server that is lost
// causes a warning for each request. Lines of other levels are passed on.
type repeats struct {
	slog.Handler        // what lines are passed to
	derived      string // what has been added to lines, as a part of their kinds
	lines        *repeatedLines
}

// repeatedLines are the warnings of an interval, for all handlers that are derived from one.
type repeatedLines struct {
	mu    sync.Mutex                          // guards kinds
	kinds map[string]map[string]*repeatedLine // by message, and by the rest of the kind; empty outside of an interval
}

// repeatedLine is a kind of line.
type repeatedLine struct {
	handler slog.Handler
	last    slog.Record
	count   int
}

func withoutRepeats(next slog.Handler) slog.Handler {
	return repeats{Handler: next, lines: &repeatedLines{kinds: map[string]map[string]*repeatedLine{}}}
}

// Handle implements [slog.Handler].
func (r repeats) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelWarn && record.Level < slog.LevelError && !r.lines.admits(r, record) {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (r repeats) WithAttrs(attributes []slog.Attr) slog.Handler {
	return repeats{r.Handler.WithAttrs(attributes), r.derived + kindOf(attributes...), r.lines}
}

// WithGroup implements [slog.Handler].
func (r repeats) WithGroup(name string) slog.Handler {
	return repeats{r.Handler.WithGroup(name), r.derived + name, r.lines}
}

// admits counts a line, and reports whether it is one of the first of its kind in the interval.
func (l *repeatedLines) admits(from repeats, record slog.Record) bool {
	kind := strings.Builder{}
	kind.WriteString(from.derived)
	record.Attrs(func(attribute slog.Attr) bool {
		kind.WriteString(kindOf(attribute))
		return kind.Len() < maxKindText
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kinds) == 0 {
		time.AfterFunc(repeatsInterval, l.summarize)
	}
	kinds := within(l.kinds, withoutNumbers(record.Message), maxMessages, func() map[string]*repeatedLine { return map[string]*repeatedLine{} })
	line := within(kinds, kind.String(), maxKinds, func() *repeatedLine { return &repeatedLine{} })
	line.handler, line.last = from.Handler, record.Clone()
	line.count++
	return line.count <= repeatsBurst
}

// within returns the value of a key, or of the empty key if there are limit other keys. It adds a value
// that is missing.
func within[V any](values map[string]V, key string, limit int, newValue func() V) V {
	if _, ok := values[key]; !ok && len(values) >= limit {
		key = ""
	}
	value, ok := values[key]
	if !ok {
		value = newValue()
		values[key] = value
	}
	return value
}

// kindOf returns the part of attributes that lines of one kind have in common: numbers and times differ
// from line to line, and so do the ports and numbers of streams in errors.
func kindOf(attributes ...slog.Attr) string {
	var kind strings.Builder
	for _, attribute := range attributes {
		value := attribute.Value.Resolve()
		_, isError := value.Any().(error)
		text := ""
		switch value.Kind() {
		case slog.KindString, slog.KindBool, slog.KindAny, slog.KindGroup:
			text = cutTo(maxKindText, value.String())
		}
		if isError || attribute.Key == "error" || attribute.Key == "err" {
			text = withoutNumbers(text)
		}
		fmt.Fprintf(&kind, "%s=%q ", attribute.Key, text)
	}
	return kind.String()
}

func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, cutTo(maxKindText, text))
}

// summarize logs the last line of each kind that was repeated, with the number of repetitions, and begins
// the next interval.
func (l *repeatedLines) summarize() {
	l.mu.Lock()
	repeated := l.kinds
	l.kinds = map[string]map[string]*repeatedLine{}
	l.mu.Unlock()
	for _, kinds := range repeated {
		for _, line := range kinds {
			if line.count > repeatsBurst {
				line.last.AddAttrs(slog.Int("repeated", line.count-repeatsBurst))
				_ = line.handler.Handle(context.Background(), line.last)
			}
		}
	}
}
