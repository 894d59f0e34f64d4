package edge

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_HaveTheUseOfQueues(t *testing.T) {
	metrics := NewMetrics()
	queue := metrics.Queue("some_bytes", fairqueue.New(fairqueue.Limits{Total: 10, PerKey: 6, Waiting: 1}))
	release, err := queue.Acquire(t.Context(), "jane", 6)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	acquired := make(chan struct{})
	go func() {
		defer close(acquired)
		if release, err := queue.Acquire(t.Context(), "jane", 1); err == nil {
			release()
		}
	}()
	for metrics.QueueUse()["some_bytes"].Waiting == 0 {
		select {
		case <-acquired:
			t.Fatal("the second acquisition does not wait")
		case <-t.Context().Done():
			t.Fatal("the second acquisition is not counted")
		default:
		}
	}
	metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="some_bytes"} 6`)
	metricstest.WantLines(t, metrics, "kubeconnect_queue_capacity", `{queue="some_bytes"} 10`)
	metricstest.WantLines(t, metrics, "kubeconnect_queue_waiting", `{queue="some_bytes"} 1`)
	release()
	<-acquired
}
