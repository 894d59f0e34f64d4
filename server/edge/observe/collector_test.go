package observe

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

type cacheSourceFunc func() []informerhub.Status

func (f cacheSourceFunc) Status() []informerhub.Status { return f() }

type reviewSourceFunc func() auth.ReviewStats

func (f reviewSourceFunc) ReviewStats() auth.ReviewStats { return f() }

func TestCollector_ShowsTheCurrentStatusOfCaches(t *testing.T) {
	pods, widgets := informerhub.Resource{Version: "v1", Name: "pods"}, informerhub.Resource{Group: "example.com", Version: "v2", Name: "widgets"}
	status := []informerhub.Status{
		{Resource: pods, Synced: true, Freshness: informerhub.Freshness{LastContact: time.UnixMilli(1500)}, Objects: 1, Bytes: 2, Watchers: 3, Changes: 9, Relists: 4, RelistingSince: time.UnixMilli(2500), Beginnings: informerhub.Beginnings{Snapshots: 5, Resumed: 6, LatestStates: 7, Resets: 8}},
		{Resource: widgets, Freshness: informerhub.Freshness{Stale: true}},
	}
	c := NewCollector(cacheSourceFunc(func() []informerhub.Status { return status }), nil)
	for name, of := range map[string][2]string{
		"kubeconnect_cache_objects":       {"1", "0"},
		"kubeconnect_cache_bytes":         {"2", "0"},
		"kubeconnect_cache_watchers":      {"3", "0"},
		"kubeconnect_cache_changes_total": {"9", "0"},
		"kubeconnect_cache_relists_total": {"4", "0"},
		"kubeconnect_cache_synced":        {"1", "0"},

		"kubeconnect_cache_relisting_since_timestamp_seconds": {"2.5", "0"},
		"kubeconnect_cache_stale":                             {"0", "1"},
	} {
		metricstest.WantLines(t, c, name, `{resource="pods.v1"} `+of[0], `{resource="widgets.v2.example.com"} `+of[1])
	}
	status = status[:1]
	metricstest.WantLines(t, c, "kubeconnect_cache_watches_total",
		`{began_with="each_step",resource="pods.v1"} 6`, `{began_with="latest_states",resource="pods.v1"} 7`,
		`{began_with="reset",resource="pods.v1"} 8`, `{began_with="snapshot",resource="pods.v1"} 5`)
	metricstest.WantLines(t, c, "kubeconnect_cache_last_contact_timestamp_seconds", `{resource="pods.v1"} 1.5`)
	status = nil
	metricstest.WantLines(t, c, "kubeconnect_cache_objects")
}

// TestCollector_ShowsResourcesWithTwoCachesOnce recreates a CRD with another scope.
func TestCollector_ShowsResourcesWithTwoCachesOnce(t *testing.T) {
	old, made := informerhub.Resource{Version: "v1", Name: "widgets"}, informerhub.Resource{Version: "v1", Name: "widgets", Namespaced: true}
	c := NewCollector(cacheSourceFunc(func() []informerhub.Status { return []informerhub.Status{{Resource: old}, {Resource: made}} }), nil)
	metricstest.WantLines(t, c, "kubeconnect_cache_objects", `{resource="widgets.v1"} 0`)
}

type totalsSourceFunc func() informerhub.Totals

func (f totalsSourceFunc) Totals() informerhub.Totals { return f() }

func TestTotals_ShowsNumbersOfCaches(t *testing.T) {
	c := NewTotals(totalsSourceFunc(func() informerhub.Totals {
		return informerhub.Totals{Started: 1, Unused: 2, Private: 3, UnfinishedWatchLists: 4}
	}))
	metricstest.WantLines(t, c, "kubeconnect_caches_started_total", " 1")
	metricstest.WantLines(t, c, "kubeconnect_caches_evicted_total", " 2")
	metricstest.WantLines(t, c, "kubeconnect_private_caches", " 3")
	metricstest.WantLines(t, c, "kubeconnect_unfinished_watch_lists_total", " 4")
}

func TestCollector_ShowsNumbersOfReviews(t *testing.T) {
	c := NewCollector(cacheSourceFunc(func() []informerhub.Status { return nil }), map[string]health.ReviewSource{
		"TokenReview": reviewSourceFunc(func() auth.ReviewStats { return auth.ReviewStats{Requested: 1, Failed: 2, CacheHits: 3, Rejected: 4} }),
	})
	metricstest.WantLines(t, c, "kubeconnect_auth_reviews_total", `{review="TokenReview"} 1`)
	metricstest.WantLines(t, c, "kubeconnect_auth_review_failures_total", `{review="TokenReview"} 2`)
	metricstest.WantLines(t, c, "kubeconnect_auth_cache_hits_total", `{review="TokenReview"} 3`)
	metricstest.WantLines(t, c, "kubeconnect_auth_review_rejections_total", `{review="TokenReview"} 4`)
}
