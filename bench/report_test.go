package main

import (
	"strings"
	"testing"
)

func TestRow_ShowsMedianAndSpreadOfRatios(t *testing.T) {
	r := row{
		what: "a", against: "b", unit: "ms", ours: []float64{1, 2, 4}, theirs: []float64{10, 10, 10},
		ratio: less, first: "4×",
	}
	if got, want := r.String(), "| a | b | 2.00 ms | 10.0 ms | **5.00×** (2.50–10.0) | 4× | – |\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRow_ShowsSpreadOfValuesWithoutRatio(t *testing.T) {
	r := row{what: "a", against: "b", unit: "ms", ours: []float64{3, 1}}
	if got := r.String(); !strings.Contains(got, "| 2.00 ms | – | (1.00–3.00) |") {
		t.Errorf("got %swant the median and the spread of the values", got)
	}
}

func TestSample_MatchesNameAndLabels(t *testing.T) {
	line := `requests{resource="pods",verb="LIST"} 12` + "\n"
	if value, ok := sample(line, "requests", []string{`verb="LIST"`}); !ok || value != 12 {
		t.Errorf("got %v, %v, want 12, true", value, ok)
	}
	for _, other := range []string{`verb="WATCH"`, `resource="nodes"`} {
		if _, ok := sample(line, "requests", []string{other}); ok {
			t.Errorf("the line matches the label %s, which it does not have", other)
		}
	}
	if _, ok := sample(line, "request", nil); ok {
		t.Error("the line matches a name that is only the beginning of its name")
	}
}
