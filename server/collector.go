package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// CacheSource tells what the caches are like; informerhub's Hub does.
type CacheSource interface{ Status() []informerhub.Status }

// ReviewSource tells how often the cluster was asked about callers; auth's Cluster and
// Authorizer do.
type ReviewSource interface{ Reviews() auth.Reviews }

// NewCollector makes a collector of what the rooms below know of themselves: it asks
// them when metrics are read, and costs nothing otherwise. reviews are by the kind of
// review.
func NewCollector(caches CacheSource, reviews map[string]ReviewSource) prometheus.Collector {
	return collector{caches, reviews}
}

type collector struct {
	caches  CacheSource
	reviews map[string]ReviewSource
}

// measure is one number of a T.
type measure[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(T) float64
}

func measured[T any](name, label, help string, kind prometheus.ValueType, read func(T) float64) measure[T] {
	return measure[T]{prometheus.NewDesc(name, help, []string{label}, nil), kind, read}
}

func (m measure[T]) of(owner string, from T) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.desc, m.kind, m.read(from), owner)
}

var cacheMeasures = []measure[informerhub.Status]{
	measured("kubeconnect_cache_objects", "resource",
		"Objects in memory.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Objects) }),
	measured("kubeconnect_cache_bytes", "resource",
		"What the objects take in memory, roughly, without indexes and history. Worry when the sum comes near half of the memory limit.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Bytes) }),
	measured("kubeconnect_cache_watchers", "resource",
		"Watches of callers that follow the resource now.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.Watchers) }),
	measured("kubeconnect_cache_synced", "resource",
		"1 once the resource has been read as a whole. Worry when it is 0 for a minute: nobody can read the resource; the log of the service says why.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Synced) }),
	measured("kubeconnect_cache_stale", "resource",
		"1 while the API server has been lost: answers say that they are old. Worry when it is 1 for a minute.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return number(s.Stale) }),
	measured("kubeconnect_cache_last_contact_timestamp_seconds", "resource",
		"When the API server was last known to be there, in Unix time: with time() minus this, how old answers may be. Worry when that is more than 60.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return float64(s.LastContact.UnixNano()) / float64(time.Second) }),
	measured("kubeconnect_cache_relisting_since_timestamp_seconds", "resource",
		"Since when the resource is read as a whole, for the first time or anew, in Unix time; 0 while it is not. Until it ends, answers are of the time before. Worry when time() minus this is more than 300: the API server is slow, or refuses; the log of the service says why.",
		prometheus.GaugeValue, func(s informerhub.Status) float64 { return unixSeconds(s.RelistingSince) }),
	measured("kubeconnect_cache_relists_total", "resource",
		"Whole snapshots that were read after the first one. Worry when it rises again and again: each costs the API server a list of all objects.",
		prometheus.CounterValue, func(s informerhub.Status) float64 { return float64(s.Relists) }),
}

var reviewMeasures = []measure[auth.Reviews]{
	measured("kubeconnect_auth_reviews_total", "review",
		"Reviews that the API server was asked for, to know who is calling and what they may do.",
		prometheus.CounterValue, func(r auth.Reviews) float64 { return float64(r.Asked) }),
	measured("kubeconnect_auth_review_failures_total", "review",
		"Look-ups of callers that have brought no answer. Worry when it rises: callers are refused with unavailable, and streams stand still.",
		prometheus.CounterValue, func(r auth.Reviews) float64 { return float64(r.Failed) }),
	measured("kubeconnect_auth_turned_away_total", "review",
		"Look-ups of callers that were not begun, for too many others were before them. Worry when it rises: somebody sends many made-up tokens, many new callers come through one proxy, or one caller asks for more permissions than are looked up at a time.",
		prometheus.CounterValue, func(r auth.Reviews) float64 { return float64(r.TurnedAway) }),
	measured("kubeconnect_auth_remembered_total", "review",
		"Answers about callers that were given from memory, without a review.",
		prometheus.CounterValue, func(r auth.Reviews) float64 { return float64(r.Remembered) }),
}

// unixSeconds returns 0 for no time.
func unixSeconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixNano()) / float64(time.Second)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, one := range cacheMeasures {
		to <- one.desc
	}
	for _, one := range reviewMeasures {
		to <- one.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for resource, status := range c.byResource() {
		for _, one := range cacheMeasures {
			to <- one.of(resource, status)
		}
	}
	for review, source := range c.reviews {
		reviews := source.Reviews()
		for _, one := range reviewMeasures {
			to <- one.of(review, reviews)
		}
	}
}

// byResource has each name once: a CRD that was made anew, with another scope, has two
// caches until the old one has ended.
func (c collector) byResource() map[string]informerhub.Status {
	named := make(map[string]informerhub.Status)
	for _, status := range c.caches.Status() {
		named[status.Resource.String()] = status
	}
	return named
}
