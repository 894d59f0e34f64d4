package edge

import (
	"testing"
	"testing/synctest"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_HaveTheUseOfQueues(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		metrics := NewMetrics()
		queue := metrics.Queue("some_bytes", fairqueue.New(fairqueue.Limits{Total: 10, PerKey: 6, Waiting: 1}))
		release, err := queue.Acquire(t.Context(), "jane", 6)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			release, err := queue.Acquire(t.Context(), "jane", 1)
			if err != nil {
				t.Error(err)
				return
			}
			release()
		}()
		synctest.Wait()
		metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="some_bytes"} 6`)
		metricstest.WantLines(t, metrics, "kubeconnect_queue_capacity", `{queue="some_bytes"} 10`)
		metricstest.WantLines(t, metrics, "kubeconnect_queue_waiting", `{queue="some_bytes"} 1`)
		release()
		synctest.Wait()
		metricstest.WantLines(t, metrics, "kubeconnect_queue_held", `{queue="some_bytes"} 0`)
		metricstest.WantLines(t, metrics, "kubeconnect_queue_waiting", `{queue="some_bytes"} 0`)
	})
}
