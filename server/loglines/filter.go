package loglines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	// MaxContext bounds the lines before and after a match.
	MaxContext = 100
	// maxContextBytes bounds the lines of one log that are kept because the next line may match.
	maxContextBytes = 256 << 10
	// maxTextBytes bounds the text of a condition.
	maxTextBytes = 4 << 10
)

// Condition is what a line must fulfil. Exactly one of Contains and Regex is required.
type Condition struct {
	Contains, Regex    string
	IgnoreCase, Invert bool
	Before, After      int // number of lines around each match
}

// Filter selects lines, and the lines around them. It is safe for concurrent use.
type Filter struct {
	match         matcher
	steps         int // that match needs at most for a byte
	invert        bool
	before, after int
}

// matcher reports whether a text fulfils a condition. It returns an error only if ctx is done. It
// yields during a long text if that needs many steps.
type matcher func(ctx context.Context, text []byte) (bool, error)

// NewFilter compiles a condition. It calls charge with the memory of the compiled condition before it is
// compiled, and fails with its error.
func NewFilter(condition Condition, charge func(bytes int) error) (*Filter, error) {
	for _, lines := range []int{condition.Before, condition.After} {
		if lines < 0 || lines > MaxContext {
			return nil, fmt.Errorf("%d context lines: give 0 to %d", lines, MaxContext)
		}
	}
	match, steps, err := condition.compile(charge)
	if err != nil {
		return nil, err
	}
	return &Filter{match: match, steps: steps, invert: condition.Invert, before: condition.Before, after: condition.After}, nil
}

// selects reports whether a line is selected.
func (f *Filter) selects(ctx context.Context, text []byte) (bool, error) {
	matched, err := f.match(ctx, text)
	return matched != f.invert, err
}

// compile returns what matches lines, and how many steps it needs at most for a byte.
func (c Condition) compile(charge func(bytes int) error) (match matcher, steps int, err error) {
	switch {
	case (c.Contains == "") == (c.Regex == ""):
		return nil, 0, errors.New("give either contains or regex")
	case c.Regex != "":
		return c.compileRegex(charge)
	case len(c.Contains) > maxTextBytes:
		return nil, 0, fmt.Errorf("contains has %d bytes: give at most %d", len(c.Contains), maxTextBytes)
	case c.IgnoreCase && !utf8.ValidString(c.Contains):
		return nil, 0, errors.New("contains has invalid UTF-8, which has no upper and lower case")
	case c.IgnoreCase:
		return containsFolded(c.Contains), stepsToFold, nil
	}
	text := []byte(c.Contains)
	return func(_ context.Context, line []byte) (bool, error) { return bytes.Contains(line, text), nil }, 1, nil
}

func (c Condition) compileRegex(charge func(bytes int) error) (match matcher, steps int, err error) {
	flags := ""
	if c.IgnoreCase {
		flags = "(?i)"
	}
	compiled, steps, err := compilePattern(flags, c.Regex, "", charge)
	if err != nil {
		return nil, 0, err
	}
	return matchRegex(compiled, steps), steps, nil
}

// logFilter applies a filter to the lines of one log. It is owned by the goroutine that reads the
// log, and between two of them by the stream.
type logFilter struct {
	filter *Filter // nil for all lines

	before      []Line // the last lines that did not match
	beforeBytes int
	after       int  // number of the next lines that are sent as context
	sent        bool // a line has been sent
	omitted     bool // lines since the last one that was sent have been omitted
}

// stepsOf returns how many steps a line needs at most.
func (f *logFilter) stepsOf(line Line) int {
	if f.filter == nil {
		return len(line.Text)
	}
	return (len(line.Text) + 1) * f.filter.steps
}

// add appends to lines what is to be sent because of the next line. It copies the text. It returns
// an error only if ctx is done.
func (f *logFilter) add(ctx context.Context, lines []Line, line Line) ([]Line, error) {
	if f.filter == nil {
		return append(lines, copied(line)), nil
	}
	selected, err := f.filter.selects(ctx, line.Text)
	if err != nil {
		return nil, err
	}
	return f.apply(lines, line, selected), nil
}

// apply appends what is to be sent because of a line that is selected or not.
func (f *logFilter) apply(lines []Line, line Line, selected bool) []Line {
	switch {
	case selected:
		for _, context := range f.before {
			lines = append(lines, f.send(context, true))
		}
		f.before, f.beforeBytes, f.after = f.before[:0], 0, f.filter.after
		return append(lines, f.send(copied(line), false))
	case f.after > 0:
		f.after--
		return append(lines, f.send(copied(line), true))
	}
	f.keep(line)
	return lines
}

func copied(line Line) Line {
	line.Text = bytes.Clone(line.Text)
	return line
}

// send marks a line that is sent.
func (f *logFilter) send(line Line, context bool) Line {
	line.Context = context
	line.Gap = f.omitted && f.sent && f.filter.before+f.filter.after > 0
	f.sent, f.omitted = true, false
	return line
}

// keep keeps a line in case that one of the next lines matches, and omits the oldest lines that it
// need not keep any more.
func (f *logFilter) keep(line Line) {
	if f.filter.before == 0 {
		f.omitted = true
		return
	}
	f.before = append(f.before, copied(line))
	f.beforeBytes += len(line.Text)
	for len(f.before) > f.filter.before || f.beforeBytes > maxContextBytes {
		f.beforeBytes -= len(f.before[0].Text)
		f.before = append(f.before[:0], f.before[1:]...)
		f.omitted = true
	}
}
