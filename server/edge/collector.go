package edge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// ReviewSource returns the statistics of reviews of callers. An auth.ClusterAuthenticator and an
// auth.Authorizer implement it.
type ReviewSource interface{ ReviewStats() auth.ReviewStats }

// NewCollector returns a collector of the statistics of caches and reviews. It reads them on each
// scrape, and costs nothing otherwise. The keys of reviews are the kinds of review.
func NewCollector(caches CacheSource, reviews map[string]ReviewSource) prometheus.Collector {
	return collector{caches, reviews}
}

type collector struct {
	caches  CacheSource
	reviews map[string]ReviewSource
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

func (m measure[T]) metric(owner string, from T) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.desc, m.kind, m.read(from), owner)
}

var cacheMeasures = []measure[informerhub.Status]{
	newMeasure("kubeconnect_cache_objects", "resource",
		"Objects in memory.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Objects) }),
	newMeasure("kubeconnect_cache_bytes", "resource",
		"Approximate memory of the objects in bytes, without indexes and history. Alert when the sum approaches half of the memory limit.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Bytes) }),
	newMeasure("kubeconnect_cache_watchers", "resource",
		"Open watches of the resource.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Watchers) }),
	newMeasure("kubeconnect_cache_synced", "resource",
		"1 when the first snapshot of the resource is complete. Alert when it is 0 for a minute: no caller can read the resource; see the log of the service.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Synced) }),
	newMeasure("kubeconnect_cache_stale", "resource",
		"1 while the API server is unreachable: responses are marked as stale. Alert when it is 1 for a minute.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Stale) }),
	newMeasure("kubeconnect_cache_last_contact_timestamp_seconds", "resource",
		"Time of the last confirmed contact with the API server, in Unix time: time() minus this is the maximum age of responses. Alert when that is more than 60.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.LastContact.UnixNano()) / float64(time.Second) }),
	newMeasure("kubeconnect_cache_relisting_since_timestamp_seconds", "resource",
		"Start of the list or relist that is running, in Unix time; 0 if none is. Until it ends, responses are from the state before it. Alert when time() minus this is more than 300: the API server is slow or rejects the list; see the log of the service.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return unixSeconds(s.RelistingSince) }),
	newMeasure("kubeconnect_cache_window_seconds", "resource",
		"Time that the window of known changes reaches back: a watch that was interrupted for less continues with each step, and later with the latest states. It falls while many or large objects change.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return secondsSince(s.WindowSince) }),
	newMeasure("kubeconnect_cache_relists_total", "resource",
		"Relists after the first snapshot. Alert when it keeps rising: each costs the API server a list of all objects.",
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
	"Begun and resumed watches of the resource, by how they continued: with a snapshot, because they had no token; with each step since "+
		"their token; with the latest states of what has changed since; or with a reset, which is a snapshot in spite of a token.",
	[]string{"resource", "began_with"}, nil)

var reviewMeasures = []measure[auth.ReviewStats]{
	newMeasure("kubeconnect_auth_reviews_total", "review",
		"TokenReviews and SubjectAccessReviews that were sent to the API server.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.Requested) }),
	newMeasure("kubeconnect_auth_review_failures_total", "review",
		"Reviews that failed. Alert when it rises: calls fail with unavailable, and streams send nothing but stale bookmarks.",
		prometheus.CounterValue, func(r auth.ReviewStats) float64 { return float64(r.Failed) }),
	newMeasure("kubeconnect_auth_review_rejections_total", "review",
		"Reviews that were rejected because the queue was full. Alert when it rises: a client sends many invalid tokens, many unknown clients come through one proxy, or one caller needs more reviews than run at a time.",
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
			metrics <- measure.metric(resource, status)
		}
		for began, count := range beginnings {
			metrics <- prometheus.MustNewConstMetric(beginningsDesc, prometheus.CounterValue, float64(count(status.Beginnings)), resource, began)
		}
	}
	for review, source := range c.reviews {
		reviews := source.ReviewStats()
		for _, measure := range reviewMeasures {
			metrics <- measure.metric(review, reviews)
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
