package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

// NewCollector returns a collector of the statistics of caches and reviews. It reads them on each
// scrape, and costs nothing otherwise.
func NewCollector(caches health.CacheSource, reviews health.Reviews) prometheus.Collector {
	return collector{caches, reviews}
}

type collector struct {
	caches  health.CacheSource
	reviews health.Reviews
}

// measure is one metric that is read from a T.
type measure[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(T) float64
}

func newMeasure[T any](name, label, help string, kind prometheus.ValueType, read func(T) float64) measure[T] {
	return measure[T]{prometheus.NewDesc(name, help, []string{label}, nil), kind, read}
}

func (m measure[T]) metric(from T, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.desc, m.kind, m.read(from), labels...)
}

var cacheMeasures = []measure[informerhub.Status]{
	newMeasure("kubeconnect_cache_objects", "resource",
		"Objects in memory.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Objects) }),
	newMeasure("kubeconnect_cache_bytes", "resource",
		"Approximate memory of the objects in bytes, without indexes and history.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Bytes) }),
	newMeasure("kubeconnect_cache_watchers", "resource",
		"Open watches of the resource.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Watchers) }),
	newMeasure("kubeconnect_cache_synced", "resource",
		"1 when the first snapshot of the resource is complete.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Synced) }),
	newMeasure("kubeconnect_cache_stale", "resource",
		"1 while the cache may lack changes: responses are marked as stale.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Stale) }),
	newMeasure("kubeconnect_cache_rejected", "resource",
		"1 if the last failed attempt to list or watch the resource got an error response from the API server, such as forbidden: the connection works.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Rejected) }),
	newMeasure("kubeconnect_cache_failures_total", "resource",
		"Failed attempts to list or watch the resource.",
		prometheus.CounterValue, func(s informerhub.Status) float64 { return float64(s.Failures) }),
	newMeasure("kubeconnect_cache_last_contact_timestamp_seconds", "resource",
		"Time of the last confirmed contact with the API server, in Unix time: time() minus this is the maximum age of responses.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.LastContact.UnixNano()) / float64(time.Second) }),
	newMeasure("kubeconnect_cache_relisting_since_timestamp_seconds", "resource",
		"Start of the list or relist that is running, in Unix time; 0 if none is. Until it ends, responses are from the state before it.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return unixSeconds(s.RelistingSince) }),
	newMeasure("kubeconnect_cache_window_seconds", "resource",
		"Time that the window of known changes reaches back: a watch that was interrupted for less continues with each step, and later with the latest states. It falls while many or large objects change.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return secondsSince(s.WindowSince) }),
	newMeasure("kubeconnect_cache_changes_total", "resource",
		"Changes of objects that the cache has taken from the API server, including one for each object of the first snapshot.",
		prometheus.CounterValue, func(s informerhub.Status) float64 { return float64(s.Changes) }),
	newMeasure("kubeconnect_cache_relists_total", "resource",
		"Relists after the first snapshot: each is a list of all objects at the API server.",
		prometheus.CounterValue, func(s informerhub.Status) float64 { return float64(s.Relists) }),
}

// beginnings are the ways in which watches begin, as labels.
var beginnings = map[string]func(informerhub.Beginnings) int64{
	"snapshot":      func(b informerhub.Beginnings) int64 { return b.Snapshots },
	"each_step":     func(b informerhub.Beginnings) int64 { return b.Resumed },
	"latest_states": func(b informerhub.Beginnings) int64 { return b.LatestStates },
	"reset":         func(b informerhub.Beginnings) int64 { return b.Resets },
}

var beginningsDesc = prometheus.NewDesc("kubeconnect_cache_watches_total",
	"Watches of the resource that have begun or resumed, by how: with a snapshot, because they had no token; with each step since "+
		"their token; with the latest states of what has changed since; or with a reset, which is a snapshot in spite of a token. "+
		"An open watch that cannot be continued counts again as a reset.",
	[]string{"resource", "began_with"}, nil)

var reviewMeasures = []measure[auth.ReviewStats]{
	newMeasure("kubeconnect_auth_reviews_total", "review",
		"TokenReviews and SubjectAccessReviews that were sent to the API server.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.Requested) }),
	newMeasure("kubeconnect_auth_review_failures_total", "review",
		"Reviews that the API server did not answer: calls that need them fail with unavailable, and streams send nothing but stale bookmarks.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.Failed) }),
	newMeasure("kubeconnect_auth_reviews_failing", "review",
		"1 while the API server answers no reviews: one after the other is sent as a probe, calls fail with unavailable, and streams are stale.",
		prometheus.GaugeValue, func(r auth.ReviewStats) float64 { return number(!r.FailingSince.IsZero()) }),
	newMeasure("kubeconnect_auth_reviews_unreachable", "review",
		"1 while reviews fail because the API server cannot be reached. 0 if it can be reached, and returns errors or does not decide in time.",
		prometheus.GaugeValue, func(r auth.ReviewStats) float64 { return number(r.Unreachable) }),
	newMeasure("kubeconnect_auth_review_rejections_total", "review",
		"Reviews that were rejected because the queue was full.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.Rejected) }),
	newMeasure("kubeconnect_auth_reviews_waiting", "review",
		"Reviews that wait for a slot, because others of the same caller or of all are running.",
		prometheus.GaugeValue, func(r auth.ReviewStats) float64 { return float64(r.Waiting) }),
	newMeasure("kubeconnect_auth_review_wait_seconds_total", "review",
		"Time that all reviews have waited for a slot. Its rate, divided by that of kubeconnect_auth_reviews_total, is the average.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return r.Waited.Seconds() }),
	newMeasure("kubeconnect_auth_review_seconds_total", "review",
		"Time that all reviews took at the API server. Its rate, divided by that of kubeconnect_auth_reviews_total, is the average.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return r.Took.Seconds() }),
	newMeasure("kubeconnect_auth_cache_hits_total", "review",
		"Results that were returned from the cache, without a review.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.CacheHits) }),
}

// unixSeconds returns at in Unix time, or 0 for the zero time.
func unixSeconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixNano()) / float64(time.Second)
}

// secondsSince returns the time since at in seconds, or 0 for the zero time.
func secondsSince(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return time.Since(at).Seconds()
}

func number(value bool) float64 {
	if value {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) {
	for _, measure := range cacheMeasures {
		descs <- measure.desc
	}
	descs <- beginningsDesc
	for _, measure := range reviewMeasures {
		descs <- measure.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	for resource, status := range c.byResource() {
		for _, measure := range cacheMeasures {
			metrics <- measure.metric(status, resource)
		}
		for began, count := range beginnings {
			metrics <- prometheus.MustNewConstMetric(beginningsDesc, prometheus.CounterValue, float64(count(status.Beginnings)), resource, began)
		}
	}
	for review, source := range c.reviews {
		reviews := source.ReviewStats()
		for _, measure := range reviewMeasures {
			metrics <- measure.metric(reviews, review)
		}
	}
}

// byResource returns the status of each resource, by name. A CRD that was recreated with another
// scope has two caches until the old one has ended.
func (c collector) byResource() map[string]informerhub.Status {
	byName := make(map[string]informerhub.Status)
	for _, status := range c.caches.Status() {
		byName[status.Resource.String()] = status
	}
	return byName
}

// TotalsSource returns the numbers of caches; informerhub's Hub implements it.
type TotalsSource interface{ Totals() informerhub.Totals }

// NewTotals returns a collector of the numbers of caches. It reads them on each scrape.
func NewTotals(caches TotalsSource) prometheus.Collector { return totals{caches} }

type totals struct{ caches TotalsSource }

var totalsMeasures = []measure[informerhub.Totals]{
	{
		prometheus.NewDesc("kubeconnect_caches_started_total", "Shared caches that were started, each with a list of the API server.", nil, nil),
		prometheus.CounterValue, func(t informerhub.Totals) float64 { return float64(t.Started) },
	},
	{
		prometheus.NewDesc("kubeconnect_caches_evicted_total", "Shared caches that have ended because nobody used them.", nil, nil),
		prometheus.CounterValue, func(t informerhub.Totals) float64 { return float64(t.Unused) },
	},
	{
		prometheus.NewDesc("kubeconnect_private_caches", "Caches that serve a single stream, with the permissions of its caller.", nil, nil),
		prometheus.GaugeValue, func(t informerhub.Totals) float64 { return float64(t.Private) },
	},
	{
		prometheus.NewDesc("kubeconnect_unfinished_watch_lists_total",
			"Watch-lists of caches that the API server, or a proxy before it, has not completed, so that the resource was listed instead.", nil, nil),
		prometheus.CounterValue, func(t informerhub.Totals) float64 { return float64(t.UnfinishedWatchLists) },
	},
}

// Describe implements prometheus.Collector.
func (totals) Describe(descs chan<- *prometheus.Desc) {
	for _, measure := range totalsMeasures {
		descs <- measure.desc
	}
}

// Collect implements prometheus.Collector.
func (t totals) Collect(metrics chan<- prometheus.Metric) {
	now := t.caches.Totals()
	for _, measure := range totalsMeasures {
		metrics <- measure.metric(now)
	}
}
