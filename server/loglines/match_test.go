package loglines

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// matches reports whether a condition selects a text.
func matches(t *testing.T, condition Condition, text []byte) bool {
	t.Helper()
	filter, err := NewFilter(condition, free)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := filter.selects(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return selected
}

// TestContainsFolded_MatchesAsARegularExpression compares with the case folding of regular
// expressions, also of letters with three cases and of bytes that are not UTF-8.
func TestContainsFolded_MatchesAsARegularExpression(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		letters := rapid.SampledFrom([]string{"k", "K", "\u212a", "s", "\u017f", "ß", "ẞ", "Σ", "ς", "é", "É", "1", "\ufffd"})
		text := strings.Join(rapid.SliceOfN(letters, 1, 3).Draw(r, "text"), "")
		line := []byte(strings.Join(rapid.SliceOfN(rapid.OneOf(letters, rapid.Just("\xff")), 0, 8).Draw(r, "line"), ""))
		if strings.Contains(text, "\ufffd") && bytes.Contains(line, []byte("\xff")) {
			r.Skip("for a regular expression, bytes that are not UTF-8 are this character")
		}
		want := regexp.MustCompile("(?i)" + regexp.QuoteMeta(text)).Match(line)
		if got := matches(t, Condition{Contains: text, IgnoreCase: true}, line); got != want {
			r.Errorf("%q contains %q: %v, want %v", line, text, got, want)
		}
	})
}

// TestMatchRegex_MatchesLongLinesAsShortOnes matches lines of several pieces, and in one piece.
func TestMatchRegex_MatchesLongLinesAsShortOnes(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"^a", "b$", "a+b", "^(.?){40}$", `\bb`, "(?i)Ä", "\ufffd", "c"} {
		compiled := regexp.MustCompile(pattern)
		for _, line := range []string{strings.Repeat("a", 100), strings.Repeat("a", 99) + "b", strings.Repeat("ä", 60), strings.Repeat(" ", 50) + "b\xff"} {
			got, err := matchRegex(compiled, stepsBetweenYields/10)(t.Context(), []byte(line))
			if want := compiled.MatchString(line); err != nil || got != want {
				t.Errorf("%q matches %.20q…: %v, want %v: %v", pattern, line, got, want, err)
			}
		}
	}
}

// TestFilter_YieldsWithinALongLine matches one line for a caller that disconnects: the match ends at
// a yield, so it also passes its processor slot on.
func TestFilter_YieldsWithinALongLine(t *testing.T) {
	t.Parallel()
	line := bytes.Repeat([]byte("a"), MaxLineBytes)
	for _, pattern := range []string{"(a?){240}b", "(.?){240}$$b"} {
		filter, err := NewFilter(Condition{Regex: pattern}, free)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := filter.selects(ctx, line); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", pattern, err)
		}
	}
}

// TestFilter_FoldsOnce matches a long text in any case: the line is folded once, which takes the
// same number of steps whatever the text is.
func TestFilter_FoldsOnce(t *testing.T) {
	line := bytes.Repeat([]byte("a"), MaxLineBytes)
	filter, err := NewFilter(Condition{Contains: strings.Repeat("a", maxTextBytes-1) + "b", IgnoreCase: true}, free)
	if err != nil {
		t.Fatal(err)
	}
	if filter.steps != stepsToFold {
		t.Errorf("%d steps for a byte, want %d", filter.steps, stepsToFold)
	}
	folds := testing.AllocsPerRun(1, func() { _, err = filter.selects(context.Background(), line) })
	if err != nil || folds != 1 {
		t.Errorf("%v folded texts: %v", folds, err)
	}
}
