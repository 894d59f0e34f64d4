package loglines

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// repeatedTo returns a pattern of as many units as fit between two texts.
func repeatedTo(before, unit, after string) string {
	return before + strings.Repeat(unit, (maxPatternBytes-len(before)-len(after))/len(unit)) + after
}

// costlyPatterns are regular expressions that are as costly as their text allows.
var costlyPatterns = map[string]string{
	"a short one":           "a",
	"text":                  repeatedTo("", "a", ""),
	"text in any case":      repeatedTo("(?i)", "k", ""),
	"groups":                strings.Repeat("(", 400) + "a" + strings.Repeat(")", 400),
	"repetitions":           repeatedTo("", "x{1000}", ""),
	"one repetition":        "x{900}",
	"repetitions of groups": repeatedTo("", "(x*)*", ""),
	"classes":               repeatedTo("", `\pL`, ""),
	"few classes":           strings.Repeat(`\pL`, maxClasses),
	"few repeated classes":  `(\pL{7}\pN{7}){3}`,
	"classes in a class":    repeatedTo("[", `\pL`, "]"),
	"without classes":       repeatedTo("[^", `\PL`, "]"),
	"classes in any case":   repeatedTo("(?i)[", `\pC`, "]"),
	"a choice of classes":   repeatedTo("x", `|\pL`, ""),
	"ranges":                repeatedTo("(?i)[", "a-zA-Z", "]"),
	"small classes":         repeatedTo("", "[a-c]", ""),
	"other letters":         repeatedTo("(?i)", "[^x]", ""),
}

// TestPattern_IsChargedForWhatItKeeps compares what is charged with what the heap keeps.
func TestPattern_IsChargedForWhatItKeeps(t *testing.T) {
	const copies = 8
	for name, pattern := range costlyPatterns {
		for form, compile := range map[string]func(charge func(int) error) (any, error){
			"of names": func(charge func(int) error) (any, error) { return NamePattern(pattern, charge) },
			"of lines": func(charge func(int) error) (any, error) {
				return NewFilter(Condition{Regex: pattern, IgnoreCase: true}, charge)
			},
		} {
			kept, charged := make([]any, copies), 0
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range kept {
				var err error
				if kept[i], err = compile(func(bytes int) error { charged += bytes; return nil }); err != nil {
					kept[i] = nil
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			heap := (int(after.HeapAlloc) - int(before.HeapAlloc)) / copies
			t.Logf("%s %s: %d bytes are kept, %d are charged", name, form, heap, charged/copies)
			if heap > charged/copies && kept[0] != nil {
				t.Errorf("%s %s: %d bytes are kept, and %d are charged", name, form, heap, charged/copies)
			}
			runtime.KeepAlive(kept)
		}
	}
}

// TestPattern_WorkIsBounded measures the work of compiling by what it allocates.
func TestPattern_WorkIsBounded(t *testing.T) {
	for name, pattern := range costlyPatterns {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = NamePattern(pattern, free)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
			t.Errorf("%s: compiling allocates %d KiB", name, allocated>>10)
		}
	}
}

// TestPattern_IsNotCompiledWithoutMemory has a caller who has no memory left.
func TestPattern_IsNotCompiledWithoutMemory(t *testing.T) {
	full := errors.New("full")
	none := func(int) error { return full }
	compiled, err := NamePattern("a", none)
	filter, filterErr := NewFilter(Condition{Regex: "a"}, none)
	if compiled != (*regexp.Regexp)(nil) || filter != nil || !errors.Is(err, full) || !errors.Is(filterErr, full) {
		t.Error(fmt.Sprint(compiled, filter, err, filterErr))
	}
}
