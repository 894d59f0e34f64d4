package loglines

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// free charges nobody.
func free(int) error { return nil }

// printed returns the lines that a filter selects of a text, as grep prints them.
func printed(filter *Filter, text string) string {
	log := logFilter{filter: filter}
	var out strings.Builder
	for line := range strings.Lines(text) {
		for _, line := range added(&log, strings.TrimSuffix(line, "\n")) {
			if line.Gap {
				out.WriteString("--\n")
			}
			out.Write(line.Text)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// added returns what a filter sends because of a line.
func added(log *logFilter, text string) []Line {
	lines, err := log.add(context.Background(), nil, Line{Text: []byte(text)})
	if err != nil {
		panic(err)
	}
	return lines
}

// TestFilter_SelectsLinesAsGrep compares with grep.
func TestFilter_SelectsLinesAsGrep(t *testing.T) {
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("there is no grep")
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[abAB]{0,3}`), 0, 40).Draw(t, "lines")
		condition := Condition{
			Regex:  rapid.SampledFrom([]string{"a", "ab", "^b", "a.*b", "^$", "B$"}).Draw(t, "regex"),
			Before: rapid.IntRange(0, 4).Draw(t, "before"), After: rapid.IntRange(0, 4).Draw(t, "after"),
			IgnoreCase: rapid.Bool().Draw(t, "ignore case"), Invert: rapid.Bool().Draw(t, "invert"),
		}
		if rapid.Bool().Draw(t, "text") {
			condition.Contains, condition.Regex = rapid.SampledFrom([]string{"a", "Ab", "bb"}).Draw(t, "contains"), ""
		}
		filter, err := NewFilter(condition, free)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(append(lines, ""), "\n")
		if got, want := printed(filter, text), grepped(t, grep, condition, text); got != want {
			t.Errorf("of %q, the filter prints %q, grep prints %q", text, got, want)
		}
	})
}

// grepped returns the output of grep for a condition.
func grepped(t *rapid.T, grep string, condition Condition, text string) string {
	arguments := []string{"-E", "-e", condition.Regex}
	if condition.Contains != "" {
		arguments = []string{"-F", "-e", condition.Contains}
	}
	if condition.Before+condition.After > 0 { // grep prints "--" with -A 0, too
		arguments = append(arguments, "-B", strconv.Itoa(condition.Before), "-A", strconv.Itoa(condition.After))
	}
	if condition.IgnoreCase {
		arguments = append(arguments, "-i")
	}
	if condition.Invert {
		arguments = append(arguments, "-v")
	}
	command := exec.Command(grep, arguments...)
	command.Stdin = strings.NewReader(text)
	command.Env = []string{"LC_ALL=C"}
	out, err := command.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	return string(out)
}

func TestFilter_BoundsTheLinesBeforeAMatch(t *testing.T) {
	t.Parallel()
	filter, err := NewFilter(Condition{Contains: "x", Before: MaxContext}, free)
	if err != nil {
		t.Fatal(err)
	}
	log := logFilter{filter: filter}
	for range 50 {
		added(&log, strings.Repeat("a", MaxLineBytes))
		if log.beforeBytes > maxContextBytes {
			t.Fatalf("%d bytes are kept", log.beforeBytes)
		}
	}
	if lines := added(&log, "x"); len(lines) != 1+maxContextBytes/MaxLineBytes {
		t.Errorf("%d lines, want those that fit, and the match", len(lines))
	}
}

func TestNewFilter_RejectsInvalidConditions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		condition Condition
		want      string // empty: accepted
	}{
		"nothing":                  {Condition{}, "give either contains or regex"},
		"both":                     {Condition{Contains: "a", Regex: "b"}, "give either contains or regex"},
		"an invalid expression":    {Condition{Regex: "a)"}, "unexpected )"},
		"an expression of its own": {Condition{Regex: "a)|(?:b", IgnoreCase: true}, "unexpected )"},
		"a long text":              {Condition{Contains: strings.Repeat("a", maxTextBytes+1)}, "4097 bytes"},
		"a long expression":        {Condition{Regex: strings.Repeat("a", maxPatternBytes+1)}, "1025 bytes"},
		"an expensive expression":  {Condition{Regex: "(ab{100}){10}"}, "has 1032"},
		"a large expression":       {Condition{Regex: strings.Repeat("x{1000}", 100)}, "has about"},
		"many classes":             {Condition{Regex: strings.Repeat(`\pL`, maxClasses+1)}, "17 classes"},
		"repeated classes":         {Condition{Regex: `\pL{500}`}, "ranges"},
		"too many lines before":    {Condition{Regex: "a", Before: 101}, "101 context lines"},
		"negative lines after":     {Condition{Regex: "a", After: -1}, "-1 context lines"},
		"bytes that are no text":   {Condition{Contains: "\xff", IgnoreCase: true}, "invalid UTF-8"},
		"a repetition":             {Condition{Regex: "x{900}"}, ""},
		"optional repetitions":     {Condition{Regex: "(x{10}|y){0,60}z"}, ""},
		"flags":                    {Condition{Regex: "(?i)a"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewFilter(test.condition, free)
			if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestNamePattern_MatchesWholeNames(t *testing.T) {
	t.Parallel()
	pattern, err := NamePattern("web|side.*", free)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"web": true, "sidecar": true, "web2": false, "aside": false} {
		if pattern.MatchString(name) != want {
			t.Errorf("%q matches: %v, want %v", name, !want, want)
		}
	}
}
