package edge

import (
	"testing"
	"testing/synctest"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
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

func TestMetrics_HaveFollowers(t *testing.T) {
	metrics := NewMetrics()
	metrics.AddFollowers(func() (followers, bytes int) { return 1, 100 })
	metrics.AddFollowers(func() (followers, bytes int) { return 2, 50 })
	metricstest.WantLines(t, metrics, "kubeconnect_followers", " 3")
	metricstest.WantLines(t, metrics, "kubeconnect_follower_bytes", " 150")
}

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
