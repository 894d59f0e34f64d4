package edge

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// limited is a bounded resource that calls share.
type limited interface {
	Use() fairqueue.Use
}

// queues are the bounded resources that calls share. Its methods are safe for concurrent use. It
// implements prometheus.Collector.
type queues struct {
	mu     sync.Mutex // guards byName
	byName map[string]limited
}

// Queue adds a queue to the metrics, under a name that has its unit, and returns it.
func (m *Metrics) Queue(name string, queue *fairqueue.Queue) *fairqueue.Queue {
	m.queues.add(name, queue)
	return queue
}

func (q *queues) add(name string, resource limited) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byName == nil {
		q.byName = map[string]limited{}
	}
	q.byName[name] = resource
}

// QueueUse returns the use of each queue, by name.
func (m *Metrics) QueueUse() map[string]fairqueue.Use { return m.queues.use() }

func (q *queues) use() map[string]fairqueue.Use {
	q.mu.Lock()
	byName := maps.Clone(q.byName)
	q.mu.Unlock()
	use := make(map[string]fairqueue.Use, len(byName))
	for name, resource := range byName {
		use[name] = resource.Use()
	}
	return use
}

var queueMeasures = []measure[fairqueue.Use]{
	newMeasure("kubeconnect_queue_held", "queue",
		"What calls hold of a bounded resource, in the unit at the end of its name.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Held) }),
	newMeasure("kubeconnect_queue_capacity", "queue",
		"The capacity of a bounded resource. A call that does not fit waits, or is rejected if it cannot wait, or if a caller has too many waiting.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Capacity) }),
	newMeasure("kubeconnect_queue_waiting", "queue",
		"Calls and streams that wait for a bounded resource.",
		prometheus.GaugeValue, func(u fairqueue.Use) float64 { return float64(u.Waiting) }),
}

// Describe implements prometheus.Collector.
func (q *queues) Describe(descs chan<- *prometheus.Desc) {
	for _, measure := range queueMeasures {
		descs <- measure.desc
	}
}

// Collect implements prometheus.Collector.
func (q *queues) Collect(metrics chan<- prometheus.Metric) {
	for name, use := range q.use() {
		for _, measure := range queueMeasures {
			metrics <- measure.metric(use, name)
		}
	}
}
