package informerhub

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// quiet is an API server whose watches have no events up to a version, and report it after a
// second.
type quiet struct {
	history
	until     string
	meanwhile func()
}

func (q *quiet) progress(ctx context.Context, _ string, _ func(watch.Event) bool) (string, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if q.meanwhile != nil {
		q.meanwhile()
	}
	return q.until, nil
}

func TestAwait_RequestsProgressForAVersionWithoutChanges(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = &quiet{until: "20"}
		must(t, c.Await(t.Context(), "20", time.Minute))
		if c.feed.version != "20" {
			t.Errorf("the cache is at %s", c.feed.version)
		}
		if err := c.Await(t.Context(), "21", time.Minute); err == nil {
			t.Error("version 21 has been reached")
		}
	})
}

func TestProgress_IgnoresResponseIfTheFeedHasAdvanced(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = &quiet{until: "20", meanwhile: func() { _ = c.Add(pod(t, "a", 12)) }}
		c.askProgress(t.Context())
		if c.feed.version != "12" {
			t.Errorf("the cache is at %s", c.feed.version)
		}
	})
}

// noProgress is an API server that does not report its progress.
type noProgress struct{ history }

func (noProgress) progress(context.Context, string, func(watch.Event) bool) (string, error) {
	return "", errNoProgress
}

// TestCache_WaitsOnceForAnUnresponsiveAPIServer has several readers wait, one after the other,
// for all deletions at a version.
func TestCache_WaitsOnceForAnUnresponsiveAPIServer(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10)
		c.history = noProgress{}
		must(t, c.Add(pod(t, "a", 11)))
		must(t, c.Delete(pod(t, "a", 12)))
		began := time.Now()
		for range 3 {
			if complete, err := c.AwaitComplete(t.Context(), "12", 3*time.Second); complete || err != nil {
				t.Errorf("the version is complete: %v, %v", complete, err)
			}
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("three readers waited %v in total", waited)
		}
		time.Sleep(incompletePause)
		c.history = &quiet{until: "20"}
		if complete, err := c.AwaitComplete(t.Context(), "12", 3*time.Second); !complete || err != nil {
			t.Errorf("the version is complete: %v, %v", complete, err)
		}
	})
}
