package servertest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// ValueOf returns the value of a gauge or a counter.
func ValueOf(t *testing.T, metric prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metric)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	first := families[0].GetMetric()[0]
	return first.GetGauge().GetValue() + first.GetCounter().GetValue() // one of them is nil
}
