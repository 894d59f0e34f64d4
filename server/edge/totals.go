package edge

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

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
