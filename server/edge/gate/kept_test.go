package gate

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_HaveWhatIsKept(t *testing.T) {
	metrics := observe.NewMetrics()
	charge, err := NewKept(1000, Limits{}, metrics, observe.NewUsage()).Account("jane", "a").Charge(400)
	if err != nil {
		t.Fatal(err)
	}
	metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="kept_bytes"} 400`)
	metricstest.WantLines(t, metrics, "kubeconnect_queue_capacity", `{queue="kept_bytes"} 1000`)
	if _, err := NewKept(1000, Limits{Rate: 1}, observe.NewMetrics(), observe.NewUsage()).Account("jane", "a").Charge(201); err == nil {
		t.Error("a credential of one of several callers has more than a fifth")
	}
	charge.Release()
	metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="kept_bytes"} 0`)
}
