package loglines

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPatternBytes bounds the text of a regular expression, and maxClasses the classes of Unicode in it: each
	// has a table of up to a thousand ranges, which is copied while the expression is parsed.
	maxPatternBytes = 1 << 10
	maxClasses      = 16
	// maxInstructions bounds a compiled regular expression. To match a line costs at most this
	// number of steps for each byte.
	maxInstructions = 1000
	// maxRanges bounds the ranges of characters of all instructions.
	maxRanges = 1 << 15
)

// NamePattern compiles a regular expression that must match a whole name. It calls charge with the memory of the
// compiled expression before it is compiled, and fails with its error.
func NamePattern(pattern string, charge func(bytes int) error) (*regexp.Regexp, error) {
	compiled, _, err := compilePattern("^(?:", pattern, ")$", charge)
	return compiled, err
}

// compilePattern compiles a regular expression of a caller, between two texts, and returns its
// number of instructions. The pattern must be valid without the texts.
func compilePattern(before, pattern, after string, charge func(bytes int) error) (compiled *regexp.Regexp, instructions int, err error) {
	if err := checkPattern(pattern); err != nil {
		return nil, 0, err
	}
	parsed, err := syntax.Parse(before+pattern+after, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	size := sizeOf(parsed)
	switch {
	case size.instructions > 4*maxInstructions: // they are counted exactly when they are compiled
		return nil, 0, fmt.Errorf("the regular expression has about %d instructions, more than %d: repeat less", size.instructions, maxInstructions)
	case size.ranges > maxRanges:
		return nil, 0, fmt.Errorf("the regular expression has %d ranges of characters, more than %d: repeat smaller classes", size.ranges, maxRanges)
	}
	if err := charge(size.bytes() + len(pattern)); err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, 0, fmt.Errorf("the regular expression has %d instructions, more than %d: repeat less", len(program.Inst), maxInstructions)
	}
	compiled, err = regexp.Compile(before + pattern + after)
	return compiled, len(program.Inst), err
}

// checkPattern rejects a regular expression that is invalid, or takes long to be parsed.
func checkPattern(pattern string) error {
	if len(pattern) > maxPatternBytes {
		return fmt.Errorf("the regular expression has %d bytes: give at most %d", len(pattern), maxPatternBytes)
	}
	if classes := strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`); classes > maxClasses {
		return fmt.Errorf("the regular expression has %d classes of Unicode, such as \\pL: give at most %d", classes, maxClasses)
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err
}

// patternSize is the size of a compiled regular expression, or a little more.
type patternSize struct{ instructions, ranges int }

// sizeOf returns the size of a regular expression with expanded repetitions. It does not expand them.
func sizeOf(parsed *syntax.Regexp) (size patternSize) {
	switch parsed.Op {
	case syntax.OpLiteral:
		size = patternSize{len(parsed.Rune), 2 * len(parsed.Rune)}
	case syntax.OpCharClass:
		size = patternSize{1, len(parsed.Rune) / 2}
	case syntax.OpConcat:
	case syntax.OpAlternate:
		size.instructions = len(parsed.Sub)
	case syntax.OpCapture:
		size.instructions = 2
	default:
		size.instructions = 1
	}
	for _, part := range parsed.Sub {
		of := sizeOf(part)
		size.instructions += of.instructions
		size.ranges += of.ranges
	}
	if parsed.Op == syntax.OpRepeat { // the package bounds the product of repetitions within each other
		times := max(parsed.Min, parsed.Max, 1)
		size.instructions, size.ranges = times*size.instructions, times*size.ranges
	}
	return size
}

// The estimated memory of a compiled regular expression; see TestPattern_IsChargedForWhatItKeeps.
const (
	patternBytes     = 4 << 10
	instructionBytes = 256
	rangeBytes       = 24
)

func (s patternSize) bytes() int {
	return patternBytes + instructionBytes*s.instructions + rangeBytes*s.ranges
}
