package observe

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

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

// TestSentMessages_DelaysBeginWithTheWatch sends a change that is older than the watch, as to a client
// that resumes, and one that is newer.
func TestSentMessages_DelaysBeginWithTheWatch(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		metrics := NewMetrics()
		interrupted := time.Now()
		time.Sleep(time.Hour)
		sent := metrics.SentMessages("pods.v1")
		time.Sleep(2 * time.Second)
		sent.Add(3, interrupted)
		received := time.Now()
		time.Sleep(time.Second)
		sent.Add(1, received)
		sent.Add(5, time.Time{}) // a snapshot
		lines := metricstest.Lines(t, metrics, "kubeconnect_watch_delay_seconds")
		if got, want := lines[len(lines)-2:], []string{"_sum 3", "_count 2"}; !slices.Equal(got, want) {
			t.Errorf("the delays are %q, want %q", got, want)
		}
		metricstest.WantLines(t, metrics, "kubeconnect_sent_events_total", `{resource="pods.v1"} 9`)
	})
}
