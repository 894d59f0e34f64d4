package edge

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_HaveWhatIsKept(t *testing.T) {
	metrics := NewMetrics()
	charge, err := newKept(1000, Limits{}, metrics, NewUsage()).Account("jane", "a").Charge(400)
	if err != nil {
		t.Fatal(err)
	}
	metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="kept_bytes"} 400`)
	metricstest.WantLines(t, metrics, "kubeconnect_queue_capacity", `{queue="kept_bytes"} 1000`)
	if _, err := newKept(1000, Limits{Rate: 1}, NewMetrics(), NewUsage()).Account("jane", "a").Charge(201); err == nil {
		t.Error("a credential of one of several callers has more than a fifth")
	}
	charge.Release()
	metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="kept_bytes"} 0`)
}
