package edge

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

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
