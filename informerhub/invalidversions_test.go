package informerhub

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// Clients can send versions that the cluster has not reached. They share the requests to the API
// server that these cause.
func TestWatch_UnreachedVersionsShareRequests(t *testing.T) {
	for name, version := range map[string]string{"near": "15", "far": "9000000000000", "too long to count": "99999999999999999999999"} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
			api.SetVersion("10")
			hub := hubOf(t, api.Config())
			answered := ask(t.Context(), hub, widgets)
			snapshotOfWidgets(t, api, "10", "red")
			got := <-answered
			must(t, got.err)
			before := api.VersionRequests()
			began := time.Now()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					w := got.cache.Watch(selectFrom(t, got.cache, Query{}), WatchOptions{Since: &Position{Version: version}, Patience: time.Second})
					defer w.Close()
					batch, err := w.Next(t.Context())
					if err != nil || batch.Events[0].Type != Reset {
						t.Errorf("received %v (%v)", batch.Events, err)
					}
				})
			}
			all.Wait()
			// The cache itself has asked, too.
			if asked, most := api.VersionRequests()-before, coalesce.Burst+int(coalesce.PerSecond*time.Since(began).Seconds())+3; asked > most {
				t.Errorf("the API server was asked %d times, want at most %d", asked, most)
			}
		})
	}
}

// expiring is an API server whose history goes back to a version.
type expiring struct {
	*replicas
	asked int
}

func (e *expiring) deletions(context.Context, string, string) ([]latest, error) {
	e.asked++
	return nil, errHistoryExpired
}

func TestHistory_TooOldVersionIsRequestedOnce(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 100, pod(t, "a", 50))
		api := &expiring{replicas: &replicas{version: 100}}
		c.history = api
		for _, version := range []string{"20", "20", "7", "19"} {
			if lines := nextLines(t, resumed(t, c, Query{}, Position{Version: version})); lines[0] != "RESET at 100" {
				t.Errorf("from %s, received %v", version, lines)
			}
		}
		if api.asked != 1 {
			t.Errorf("the history was requested %d times", api.asked)
		}
		nextLines(t, resumed(t, c, Query{}, Position{Version: "30"}))
		time.Sleep(historyPause)
		nextLines(t, resumed(t, c, Query{}, Position{Version: "7"}))
		if api.asked != 3 {
			t.Errorf("the history was requested %d times, want again for a newer version, and after a while", api.asked)
		}
	})
}
