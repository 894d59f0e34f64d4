package loglines

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxContext bounds the lines before and after a match.
	MaxContext = 100
	// maxContextBytes bounds the lines of one log that are kept because the next line may match.
	maxContextBytes = 256 << 10
	// maxTextBytes bounds the text of a condition, and maxPatternBytes a regular expression.
	maxTextBytes    = 4 << 10
	maxPatternBytes = 1 << 10
	// maxInstructions bounds a compiled regular expression. To match a line costs at most this
	// number of steps for each byte.
	maxInstructions = 1000
)

// Condition is what a line must fulfil. Exactly one of Contains and Regex is required.
type Condition struct {
	Contains, Regex    string
	IgnoreCase, Invert bool
	Before, After      int // number of lines around each match
}

// Filter selects lines, and the lines around them. It is safe for concurrent use.
type Filter struct {
	matches       func([]byte) bool
	before, after int
}

// NewFilter compiles a condition.
func NewFilter(condition Condition) (*Filter, error) {
	matches, err := condition.compile()
	if err != nil {
		return nil, err
	}
	for _, lines := range []int{condition.Before, condition.After} {
		if lines < 0 || lines > MaxContext {
			return nil, fmt.Errorf("%d context lines: give 0 to %d", lines, MaxContext)
		}
	}
	if condition.Invert {
		positive := matches
		matches = func(text []byte) bool { return !positive(text) }
	}
	return &Filter{matches: matches, before: condition.Before, after: condition.After}, nil
}

func (c Condition) compile() (matches func([]byte) bool, err error) {
	switch {
	case (c.Contains == "") == (c.Regex == ""):
		return nil, errors.New("give either contains or regex")
	case len(c.Contains) > maxTextBytes:
		return nil, fmt.Errorf("contains has %d bytes: give at most %d", len(c.Contains), maxTextBytes)
	case c.Regex == "" && !c.IgnoreCase:
		text := []byte(c.Contains)
		return func(line []byte) bool { return bytes.Contains(line, text) }, nil
	case c.Regex == "":
		compiled, err := regexp.Compile("(?i)" + regexp.QuoteMeta(c.Contains))
		if err != nil {
			return nil, err
		}
		return compiled.Match, nil
	}
	flags := ""
	if c.IgnoreCase {
		flags = "(?i)"
	}
	compiled, err := compilePattern(flags, c.Regex, "")
	if err != nil {
		return nil, err
	}
	return compiled.Match, nil
}

// NamePattern compiles a regular expression that must match a whole name.
func NamePattern(pattern string) (*regexp.Regexp, error) {
	return compilePattern("^(?:", pattern, ")$")
}

// compilePattern compiles a regular expression of a caller, between two texts. The pattern must be
// valid without them.
func compilePattern(before, pattern, after string) (*regexp.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("the regular expression has %d bytes: give at most %d", len(pattern), maxPatternBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, fmt.Errorf("the regular expression has %d instructions, more than %d: repeat less", len(program.Inst), maxInstructions)
	}
	return regexp.Compile(before + pattern + after)
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

// add appends to lines what is to be sent because of the next line. It copies the text.
func (f *logFilter) add(lines []Line, line Line) []Line {
	switch {
	case f.filter == nil:
		return append(lines, copied(line))
	case f.filter.matches(line.Text):
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
