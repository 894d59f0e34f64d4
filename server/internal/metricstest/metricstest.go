// Package metricstest reads metrics as Prometheus does, for tests.
package metricstest

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Lines returns the samples of one metric of a collector, in order.
func Lines(t testing.TB, collected prometheus.Collector, name string) (lines []string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collected)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		text := &strings.Builder{}
		if _, err := expfmt.MetricFamilyToText(text, family); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if family.GetName() == name && !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), name))
			}
		}
	}
	return lines
}

// WantLines fails unless a metric has the given lines.
func WantLines(t testing.TB, collected prometheus.Collector, name string, want ...string) {
	t.Helper()
	if got := Lines(t, collected, name); !slices.Equal(got, want) {
		t.Errorf("%s is\n  %s\nwant\n  %s", name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
