package memorylimit

import (
	"context"
	"log/slog"
	"math"
	"runtime/metrics"
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

// Monitor observes whether the process can stay below its memory limit (--memory-limit or
// GOMEMLIMIT). Go does not end a process that needs more: it collects garbage all the time, and
// then the operating system ends it. Monitor implements prometheus.Collector. Its methods are
// safe for concurrent use.
type Monitor struct {
	limit, needed, exceeded *prometheus.Desc
	read                    func() memoryUse // overrides readMemory in tests

	mu      sync.Mutex // guards the fields below
	needs   uint64     // bytes at the last reading
	seconds map[string]float64
}

// NewMonitor returns a Monitor that has not read the memory yet.
func NewMonitor() *Monitor {
	return &Monitor{
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
func (m *Monitor) Run(ctx context.Context) {
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

func (m *Monitor) note(use memoryUse, reason string, during time.Duration) {
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
func (m *Monitor) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.limit
	descs <- m.needed
	descs <- m.exceeded
}

// Collect implements prometheus.Collector.
func (m *Monitor) Collect(metrics chan<- prometheus.Metric) {
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

// memoryUse is the runtime's account of the process's memory at one time.
type memoryUse struct {
	limit uint64 // bytes; math.MaxInt64 without a limit
	// needed is the memory in bytes that the last garbage collection found in use, with the memory
	// of stacks and of the runtime itself: the memory that counts toward the limit and cannot be
	// freed.
	needed uint64
	cycles uint64 // garbage collections since the process began
	// collecting and working are seconds of processor time since the process began: of garbage
	// collection with returning memory, and of everything. The runtime updates them at the end of a
	// collection.
	collecting, working float64
}

const (
	// collectorShare is the share of the used processor time above which the garbage collector
	// takes most of it. collectorCycles is the minimum number of collections a second for that: an
	// idle process spends its little processor time on nothing else.
	collectorShare, collectorCycles = 0.5, 1.0
)

const (
	metricLimit      = "/gc/gomemlimit:bytes"
	metricLive       = "/gc/heap/live:bytes"
	metricStacks     = "/memory/classes/heap/stacks:bytes"
	metricOSStacks   = "/memory/classes/os-stacks:bytes"
	metricMCache     = "/memory/classes/metadata/mcache/inuse:bytes"
	metricMSpan      = "/memory/classes/metadata/mspan/inuse:bytes"
	metricMetadata   = "/memory/classes/metadata/other:bytes"
	metricProfiling  = "/memory/classes/profiling/buckets:bytes"
	metricOther      = "/memory/classes/other:bytes"
	metricCycles     = "/gc/cycles/total:gc-cycles"
	metricCollecting = "/cpu/classes/gc/total:cpu-seconds"
	metricScavenging = "/cpu/classes/scavenge/total:cpu-seconds"
	metricCPU        = "/cpu/classes/total:cpu-seconds"
	metricIdle       = "/cpu/classes/idle:cpu-seconds"
)

// neededMetrics are summed up in memoryUse.needed.
var neededMetrics = []string{metricLive, metricStacks, metricOSStacks, metricMCache, metricMSpan, metricMetadata, metricProfiling, metricOther}

func readMemory() memoryUse {
	read := readMetrics(append([]string{metricLimit, metricCycles, metricCollecting, metricScavenging, metricCPU, metricIdle}, neededMetrics...)...)
	use := memoryUse{
		limit:      read[metricLimit].Uint64(),
		cycles:     read[metricCycles].Uint64(),
		collecting: read[metricCollecting].Float64() + read[metricScavenging].Float64(),
		working:    read[metricCPU].Float64() - read[metricIdle].Float64(),
	}
	for _, name := range neededMetrics {
		use.needed += read[name].Uint64()
	}
	return use
}

func readMetrics(names ...string) map[string]metrics.Value {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	values := make(map[string]metrics.Value, len(names))
	for _, sample := range samples {
		values[sample.Name] = sample.Value
	}
	return values
}

// exceeds returns the reason why the limit is exceeded, or "" if it is not. before is an earlier
// reading.
func (u memoryUse) exceeds(before memoryUse, during time.Duration) (reason string) {
	switch {
	case u.needed > u.limit:
		return reasonMemory
	case u.collects(before, during) && u.needed > u.limit/2:
		return reasonCollector
	}
	return ""
}

// collects reports whether the garbage collector ran all the time and took most of the used
// processor time.
func (u memoryUse) collects(before memoryUse, during time.Duration) bool {
	often := float64(u.cycles-before.cycles) >= collectorCycles*during.Seconds()
	return often && u.collecting-before.collecting >= collectorShare*(u.working-before.working)
}
