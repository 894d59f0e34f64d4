package edge

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// memoryInterval is the interval at which the memory of the process is read.
	memoryInterval = 5 * time.Second
	// memoryWarningInterval is the minimum interval between warnings.
	memoryWarningInterval = 10 * time.Minute
	// nearLimit is the share of the limit above which a warning is logged.
	nearLimit = 0.8
)

// The reasons why a limit is exceeded.
const (
	// reasonMemory: the process needs more memory than the limit.
	reasonMemory = "memory"
	// reasonCollector: memory stays below the limit only because the garbage collector takes most
	// of the processor time.
	reasonCollector = "collector"
)

// reasonNear is the reason of a warning: the limit is not exceeded yet.
const reasonNear = "near"

// memoryWarnings are the messages of the warnings, by their reasons.
var memoryWarnings = map[string]string{
	reasonMemory:    "the memory limit cannot be kept: the process needs more",
	reasonCollector: "the memory limit is kept only by collecting garbage most of the time",
	reasonNear:      "the process needs almost all the memory of its limit",
}

// MemoryLimit observes whether the process can stay below its memory limit (--memory-limit or
// GOMEMLIMIT). Go does not end a process that needs more: it collects garbage all the time, and
// then the operating system ends it. MemoryLimit implements prometheus.Collector. Its methods are
// safe for concurrent use.
type MemoryLimit struct {
	limit, needed, exceeded *prometheus.Desc
	read                    func() memoryUse // overrides readMemory in tests

	mu      sync.Mutex // guards the fields below
	needs   uint64     // bytes at the last reading
	seconds map[string]float64
}

// NewMemoryLimit returns a MemoryLimit that has not read the memory yet.
func NewMemoryLimit() *MemoryLimit {
	return &MemoryLimit{
		limit: prometheus.NewDesc("kubeconnect_memory_limit_bytes",
			"Memory limit of the process, by --memory-limit or GOMEMLIMIT, in bytes; 0 without a limit.", nil, nil),
		needed: prometheus.NewDesc("kubeconnect_memory_needed_bytes",
			"Memory in bytes that garbage collection could not free at the last reading.", nil, nil),
		exceeded: prometheus.NewDesc("kubeconnect_memory_limit_exceeded_seconds_total",
			"Time in seconds during which the limit was exceeded, by reason. memory: the process needs more than the limit. collector: "+
				"garbage collection takes most of the processor time to stay below it.",
			[]string{"reason"}, nil),
		read:    readMemory,
		seconds: map[string]float64{reasonMemory: 0, reasonCollector: 0},
	}
}

// Run reads the memory every few seconds until ctx is done, and logs a warning when the limit is near
// or exceeded.
func (m *MemoryLimit) Run(ctx context.Context) {
	ticks := time.NewTicker(memoryInterval)
	defer ticks.Stop()
	before, readAt, warned := m.read(), time.Now(), map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			use := m.read()
			reason := use.exceeds(before, now.Sub(readAt))
			m.note(use, reason, now.Sub(readAt))
			before, readAt = use, now
			if reason == "" && float64(use.needed) > nearLimit*float64(use.limit) {
				reason = reasonNear
			}
			if reason != "" && now.Sub(warned[reason]) >= memoryWarningInterval {
				warned[reason] = now
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
	slog.Warn(memoryWarnings[reason]+"; raise --memory-limit and the limit of the container, or cache fewer resources",
		"limitMiB", use.limit>>20, "neededMiB", use.needed>>20)
}

// Describe implements prometheus.Collector.
func (m *MemoryLimit) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.limit
	descs <- m.needed
	descs <- m.exceeded
}

// Collect implements prometheus.Collector.
func (m *MemoryLimit) Collect(metrics chan<- prometheus.Metric) {
	limit := m.read().limit
	if limit == math.MaxInt64 {
		limit = 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	metrics <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(limit))
	metrics <- prometheus.MustNewConstMetric(m.needed, prometheus.GaugeValue, float64(m.needs))
	for reason, seconds := range m.seconds {
		metrics <- prometheus.MustNewConstMetric(m.exceeded, prometheus.CounterValue, seconds, reason)
	}
}
