package loglines

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// stepsBetweenYields is the number of steps between checks whether another caller waits for a
	// processor slot. They take a few milliseconds at most.
	stepsBetweenYields = 1 << 16
	// stepsToFold is the number of steps that it takes to fold a byte.
	stepsToFold = 4
)

// containsFolded matches lines that contain a text, whatever the case of its letters. It searches
// the folded line, because the time of a regular expression grows with the length of the text.
func containsFolded(text string) matcher {
	folded := fold([]byte(text))
	return func(_ context.Context, line []byte) (bool, error) { return bytes.Contains(fold(line), folded), nil }
}

// fold returns a text with each letter replaced by one that stands for all of its cases. Bytes that
// are not UTF-8 remain.
func fold(text []byte) []byte {
	folded := make([]byte, 0, len(text)) // the replacement of a letter is not longer
	for len(text) > 0 {
		letter, size := utf8.DecodeRune(text)
		if letter == utf8.RuneError {
			folded = append(folded, text[:size]...)
		} else {
			folded = utf8.AppendRune(folded, foldRune(letter))
		}
		text = text[size:]
	}
	return folded
}

// foldRune returns the smallest of the letters that differ from a letter only in case.
func foldRune(letter rune) rune {
	switch {
	case 'a' <= letter && letter <= 'z':
		return letter - 'a' + 'A'
	case letter < utf8.RuneSelf:
		return letter
	}
	smallest := letter
	for next := unicode.SimpleFold(letter); next != letter; next = unicode.SimpleFold(next) {
		smallest = min(smallest, next)
	}
	return smallest
}

// matchRegex matches lines with a regular expression that needs a number of steps for each byte. A
// line that needs many steps is read in pieces, with a yield after each.
func matchRegex(compiled *regexp.Regexp, steps int) matcher {
	pieceBytes := max(1, stepsBetweenYields/steps)
	return func(ctx context.Context, line []byte) (bool, error) {
		if len(line) <= pieceBytes {
			return compiled.Match(line), nil
		}
		text := &yieldingText{ctx: ctx, rest: line, pieceBytes: pieceBytes, untilYield: pieceBytes}
		matched := compiled.MatchReader(text)
		return matched, text.err
	}
}

// yieldingText is a text that yields while it is read.
type yieldingText struct {
	ctx        context.Context // of the match
	rest       []byte
	pieceBytes int
	untilYield int   // bytes until the next yield
	err        error // of the yield, which ends the text
}

// ReadRune implements io.RuneReader.
func (t *yieldingText) ReadRune() (letter rune, size int, err error) {
	if t.untilYield <= 0 {
		t.untilYield = t.pieceBytes
		t.err = fairqueue.Yield(t.ctx)
	}
	if t.err != nil || len(t.rest) == 0 {
		return 0, 0, io.EOF
	}
	letter, size = utf8.DecodeRune(t.rest)
	t.rest, t.untilYield = t.rest[size:], t.untilYield-size
	return letter, size, nil
}
