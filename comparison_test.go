package kubeconnect_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestComparisonDoc_HasTheFiguresOfTheBench compares each row of the measurements in docs/comparison.md
// with bench/README.md: one row there must have the same figures of both sides and the same ratio, as far
// as they are rounded here. It does not compare what the rows say.
func TestComparisonDoc_HasTheFiguresOfTheBench(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(readDoc(t, "docs/comparison.md"), "| What | kubeconnect | The other | Ratio |\n")
	table, _, _ := strings.Cut(after, "\n\n")
	bench := rowsOf(readDoc(t, "bench/README.md"))
	rows := rowsOf(table)
	if len(rows) < 10 {
		t.Fatalf("docs/comparison.md has %d rows of measurements", len(rows))
	}
	for _, row := range rows {
		measured := func(other []string) bool {
			return len(other) == 7 && isRounded(row[1], other[2]) && isRounded(row[2], other[3]) && isRounded(row[3], other[4])
		}
		if !slices.ContainsFunc(bench, measured) {
			t.Errorf("bench/README.md has no row with the figures of %q", row)
		}
	}
}

// rowsOf returns the cells of the rows of tables, without the lines below their heads.
func rowsOf(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return rows
}

// figure matches a number, its digits after the point, and its unit.
var figure = regexp.MustCompile(`(?:^|: |\*\*)(-?\d[\d,]*(?:\.(\d+))?)( [mµ]?s\b| [KM]B\b)?`)

// isRounded reports whether a cell has the figure of a measured one, perhaps with fewer digits. A cell
// without a figure has that of another cell without one.
func isRounded(cell, measured string) bool {
	want, got := figure.FindStringSubmatch(cell), figure.FindStringSubmatch(measured)
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(got[1], ",", ""), 64)
	return err == nil && strconv.FormatFloat(value, 'f', len(want[2]), 64) == strings.ReplaceAll(want[1], ",", "") && want[3] == got[3]
}
