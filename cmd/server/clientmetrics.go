package main

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// clientMetrics are client-go's metrics of requests to the API server, under the names that Kubernetes'
// components use. It implements the interfaces of client-go's package metrics.
type clientMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	retries   *prometheus.CounterVec
	expiry    prometheus.Gauge
}

// restClientMetrics are the metrics of the process: client-go has one registry. They are registered
// before any client exists, because client-go reads the registry without a lock.
var restClientMetrics = registerClientMetrics()

func registerClientMetrics() *clientMetrics {
	m := &clientMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total",
			Help: "Responses of the API server, by HTTP method, host and status code; <error> without a response.",
		}, []string{"code", "method", "host"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_request_duration_seconds",
			Help: "Time of requests to the API server, with their repetitions and the reading of the response, by HTTP method and host. " +
				"Watches and logs are not included.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		}, []string{"verb", "host"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_request_retries_total",
			Help: "Requests that were sent again, because the API server asked for that, by its status code.",
		}, []string{"code", "verb", "host"}),
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rest_client_certificate_expiry_timestamp_seconds",
			Help: "When the client certificate expires that a credential plugin of the kubeconfig has returned, in Unix time; 0 without one. " +
				"The certificate of a kubeconfig itself is not included.",
		}),
	}
	metrics.Register(metrics.RegisterOpts{
		RequestResult: m, RequestLatency: m, RequestRetry: m, ClientCertExpiry: m,
	})
	return m
}

// Increment implements metrics.ResultMetric.
func (m *clientMetrics) Increment(_ context.Context, code, method, host string) {
	m.requests.WithLabelValues(code, method, host).Inc()
}

// Observe implements metrics.LatencyMetric.
func (m *clientMetrics) Observe(_ context.Context, verb string, url url.URL, latency time.Duration) {
	m.durations.WithLabelValues(verb, url.Host).Observe(latency.Seconds())
}

// IncrementRetry implements metrics.RetryMetric.
func (m *clientMetrics) IncrementRetry(_ context.Context, code, verb, host string) {
	m.retries.WithLabelValues(code, verb, host).Inc()
}

// Set implements metrics.ExpiryMetric.
func (m *clientMetrics) Set(expiry *time.Time) {
	if expiry != nil {
		m.expiry.Set(float64(expiry.Unix()))
	}
}

func (m *clientMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.durations, m.retries, m.expiry}
}

// Describe implements prometheus.Collector.
func (m *clientMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, metric := range m.all() {
		metric.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (m *clientMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, metric := range m.all() {
		metric.Collect(metrics)
	}
}
