package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// row is one line of the table: the same thing measured on both sides, once in each
// round.
type row struct {
	what, against string
	unit          string
	ours, theirs  []float64
	// ratio is what the two sides of one round make.
	ratio ratio
	// first and then are the targets of docs/design.md; empty where it has none.
	first, then string
}

// ratio says how two sides are compared.
type ratio func(ours, theirs float64) float64

var (
	// less is how many times less ours costs than theirs.
	less ratio = func(ours, theirs float64) float64 { return theirs / ours }
	// more is how many times more ours achieves.
	more ratio = func(ours, theirs float64) float64 { return ours / theirs }
)

// report is everything that a run has found.
type report struct {
	machine string
	scale   scale
	pod     podSize
	took    time.Duration

	rows    []row
	remarks []string
}

// add adds rows to the table. No two comparisons may call it at the same time.
func (r *report) add(rows ...row) { r.rows = append(r.rows, rows...) }

// remark notes what belongs to the table and is no comparison.
func (r *report) remark(format string, values ...any) {
	r.remarks = append(r.remarks, fmt.Sprintf(format, values...))
	note(format, values...)
}

const heading = `| What | Against | kubeconnect | The other | Ratio: median (min–max) | To reach first | and then |
|---|---|---|---|---|---|---|
`

func (r *report) write(to io.Writer) error {
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
	_, err := io.WriteString(to, text.String())
	return err
}

// save writes the table as it is so far to a file; an empty name is none.
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
	cells := []string{r.what, r.against, figure(median(r.ours)) + " " + r.unit, theirs, r.spread(), orDash(r.first), orDash(r.then)}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// spread is the ratio of each round: their median, the smallest and the largest.
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

// figure is a number with as many digits as it is good for.
func figure(value float64) string {
	switch size := max(value, -value); {
	case size >= 100:
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}
