package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// row is one line of the table: the same measurement on both sides, once in each round.
type row struct {
	what, against string
	unit          string
	ours, theirs  []float64
	// ratio is computed from the two sides of each round; without it, the row has no ratio.
	ratio ratio
	// first and then are the targets of docs/design.md; empty where it has none.
	first, then string
}

// ratio compares the values of the two sides.
type ratio func(ours, theirs float64) float64

var (
	// less is the ratio where a smaller value is better: theirs divided by ours.
	less ratio = func(ours, theirs float64) float64 { return theirs / ours }
	// more is the ratio of ours to theirs: above 1 where ours is larger.
	more ratio = func(ours, theirs float64) float64 { return ours / theirs }
)

// report is the result of a run.
type report struct {
	machine string
	scale   scale
	pod     podSize
	took    time.Duration

	rows    []row
	remarks []string
}

// add adds rows to the table. It is not safe for concurrent use.
func (r *report) add(rows ...row) { r.rows = append(r.rows, rows...) }

// remark adds a remark below the table, and logs it.
func (r *report) remark(format string, values ...any) {
	r.remarks = append(r.remarks, fmt.Sprintf(format, values...))
	note(format, values...)
}

const heading = `| What | Against | kubeconnect | The other | Ratio: median (min–max) | To reach first | and then |
|---|---|---|---|---|---|---|
`

func (r *report) write(w io.Writer) error {
	var text strings.Builder
	text.WriteString(heading)
	for _, row := range r.rows {
		text.WriteString(row.String())
	}
	fmt.Fprintf(&text, "\nMedians of %d rounds; %s.\n", r.scale.rounds, r.machine)
	if r.pod.whole > 0 {
		fmt.Fprintf(&text, "Pods: %d, %s.\n", r.scale.pods, r.pod)
	}
	fmt.Fprintf(&text, "The run took %s.\n", r.took.Round(time.Second))
	for _, remark := range r.remarks {
		text.WriteString("\n- " + remark)
	}
	text.WriteString("\n")
	_, err := io.WriteString(w, text.String())
	return err
}

// save writes the current table to a file, unless the name is empty.
func (r *report) save(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return r.write(file)
}

func (r row) String() string {
	theirs := "–"
	if len(r.theirs) > 0 {
		theirs = figure(median(r.theirs)) + " " + r.unit
	}
	ours := figure(median(r.ours)) + " " + r.unit
	cells := []string{r.what, r.against, ours, theirs, r.spread(), orDash(r.first), orDash(r.then)}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// spread formats the median, the smallest and the largest ratio of all rounds. Without a ratio, it
// formats the smallest and the largest value.
func (r row) spread() string {
	if r.ratio == nil {
		return fmt.Sprintf("(%s–%s)", figure(slices.Min(r.ours)), figure(slices.Max(r.ours)))
	}
	ratios := make([]float64, len(r.ours))
	for i := range r.ours {
		ratios[i] = r.ratio(r.ours[i], r.theirs[i])
	}
	return fmt.Sprintf("**%s×** (%s–%s)", figure(median(ratios)), figure(slices.Min(ratios)), figure(slices.Max(ratios)))
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// figure formats a number with about three significant digits.
func figure(value float64) string {
	switch size := max(value, -value); {
	case size >= 100:
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}
