package conformance_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// shownLine bounds the part of a message that the report shows. The failure of the test shows all of it.
const shownLine = 200

// report is what a run shows: numbers, failures, and what did not run, with the reasons.
type report struct {
	target   string
	duration time.Duration
	results  []result
	leftOut  map[string]string // the reason for each name
	missing  []string          // tests that were to run, and of which there is no result
}

// newReport returns the report for the tests that were to run and for those that were left out.
func newReport(target string, duration time.Duration, names []string, results []result, leftOut map[string]string) report {
	seen := map[string]bool{}
	for _, r := range results {
		seen[r.name] = true
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return seen[name] })
	return report{target: target, duration: duration, results: results, leftOut: leftOut, missing: missing}
}

func (r report) with(state func(result) bool) []result {
	selected := slices.DeleteFunc(slices.Clone(r.results), func(one result) bool { return !state(one) })
	slices.SortFunc(selected, func(a, b result) int { return cmp.Compare(a.name, b.name) })
	return selected
}

func (r report) passed() []result {
	return r.with(func(one result) bool { return one.state == passed })
}
func (r report) failed() []result { return r.with(result.failed) }

// withheld returns the names of the tests that did not run, by reason: those of leftOut, and those that skipped
// themselves.
func (r report) withheld() map[string][]string {
	reasons := map[string][]string{}
	for _, one := range r.with(func(one result) bool { return one.state == skipped }) {
		reason := "the test itself: " + firstLine(one.message)
		reasons[reason] = append(reasons[reason], one.name)
	}
	for name, reason := range r.leftOut {
		reasons[reason] = append(reasons[reason], name)
	}
	return reasons
}

// String returns the report as text. Each test has a line of its own.
func (r report) String() string {
	var text strings.Builder
	withheld := r.withheld()
	for _, reason := range slices.Sorted(maps.Keys(withheld)) {
		names := withheld[reason]
		slices.Sort(names)
		fmt.Fprintf(&text, "did not run (%d): %s\n", len(names), reason)
		for _, name := range names {
			fmt.Fprintf(&text, "    %s\n", name)
		}
	}
	fmt.Fprintln(&text, "slowest:")
	for _, one := range r.slowest(10) {
		fmt.Fprintf(&text, "    %s: %s\n", one.duration.Round(time.Second), one.name)
	}
	for _, one := range r.failed() {
		fmt.Fprintf(&text, "%s: %s\n    %s: %s\n", one.state, one.name, one.position, firstLine(one.message))
	}
	for _, name := range r.missing {
		fmt.Fprintf(&text, "no result: %s\n", name)
	}
	left := 0
	for _, names := range withheld {
		left += len(names)
	}
	fmt.Fprintf(&text, "%s: %d passed, %d failed, %d without a result, %d did not run, in %s\n",
		r.target, len(r.passed()), len(r.failed()), len(r.missing), left, r.duration.Round(time.Second))
	return text.String()
}

func (r report) slowest(count int) []result {
	all := slices.SortedFunc(slices.Values(r.results), func(a, b result) int { return cmp.Compare(b.duration, a.duration) })
	return all[:min(count, len(all))]
}

// firstLine returns the first line of a text, at most shownLine bytes of it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line[:min(len(line), shownLine)]
}
