package edge

import (
	"runtime/metrics"
	"time"
)

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
