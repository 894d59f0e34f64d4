package server

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// memoryInterval is how often the memory of the process is looked at.
	memoryInterval = 5 * time.Second
	// memoryWarningInterval is how often a limit that is not kept is logged.
	memoryWarningInterval = 10 * time.Minute
)

// Why a limit is not kept.
const (
	// reasonMemory is that the process needs more than the limit.
	reasonMemory = "memory"
	// reasonCollector is that memory stays below the limit only because the garbage collector
	// takes most of the processor time.
	reasonCollector = "collector"
)

// MemoryLimit watches whether the process can stay below its memory limit (--memory-limit or
// GOMEMLIMIT). Go does not end a process that needs more: it collects garbage all the time, and
// then the operating system ends it. MemoryLimit implements prometheus.Collector; its methods
// are safe for concurrent use.
type MemoryLimit struct {
	limit, needed, exceeded *prometheus.Desc
	read                    func() memoryUse // other than readMemory, in tests

	mu      sync.Mutex // guards the fields below
	needs   uint64     // bytes at the last look
	seconds map[string]float64
}

// NewMemoryLimit returns a MemoryLimit that has not looked yet.
func NewMemoryLimit() *MemoryLimit {
	return &MemoryLimit{
		limit: prometheus.NewDesc("kubeconnect_memory_limit_bytes",
			"Memory that the process should stay below, by --memory-limit or GOMEMLIMIT; 0 without a limit.", nil, nil),
		needed: prometheus.NewDesc("kubeconnect_memory_needed_bytes",
			"Memory that garbage collection could not free at the last look. Worry when it is above 80 % of kubeconnect_memory_limit_bytes.", nil, nil),
		exceeded: prometheus.NewDesc("kubeconnect_memory_limit_exceeded_seconds_total",
			"Time during which the limit could not be kept, by reason. memory: the process needs more than the limit. collector: "+
				"garbage collection takes most of the processor time to stay below it. Worry when it rises: give more memory, or serve less.",
			[]string{"reason"}, nil),
		read:    readMemory,
		seconds: map[string]float64{reasonMemory: 0, reasonCollector: 0},
	}
}

// Run looks at the memory every few seconds until the context ends, and logs when the limit is
// not kept.
func (m *MemoryLimit) Run(ctx context.Context) {
	ticks := time.NewTicker(memoryInterval)
	defer ticks.Stop()
	before, looked, warned := m.read(), time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			use := m.read()
			reason := use.exceeds(before, now.Sub(looked))
			m.note(use, reason, now.Sub(looked))
			before, looked = use, now
			if reason != "" && now.Sub(warned) >= memoryWarningInterval {
				warned = now
				warnOfMemory(use, reason)
			}
		}
	}
}

func (m *MemoryLimit) note(use memoryUse, reason string, during time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.needs = use.needed
	if reason != "" {
		m.seconds[reason] += during.Seconds()
	}
}

func warnOfMemory(use memoryUse, reason string) {
	message := "the memory limit cannot be kept: the process needs more"
	if reason == reasonCollector {
		message = "the memory limit is kept only by collecting garbage most of the time"
	}
	slog.Warn(message+"; raise --memory-limit and the limit of the container, or serve fewer resources",
		"limitMiB", use.limit>>20, "neededMiB", use.needed>>20)
}

// Describe implements prometheus.Collector.
func (m *MemoryLimit) Describe(to chan<- *prometheus.Desc) {
	to <- m.limit
	to <- m.needed
	to <- m.exceeded
}

// Collect implements prometheus.Collector.
func (m *MemoryLimit) Collect(to chan<- prometheus.Metric) {
	limit := m.read().limit
	if limit == math.MaxInt64 {
		limit = 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	to <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(limit))
	to <- prometheus.MustNewConstMetric(m.needed, prometheus.GaugeValue, float64(m.needs))
	for reason, seconds := range m.seconds {
		to <- prometheus.MustNewConstMetric(m.exceeded, prometheus.CounterValue, seconds, reason)
	}
}
