package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/template"
)

//go:embed sizing.md.tmpl
var sizingText string

// bench sizing-page writes docs/sizing.md again from bench/sizing.json.
const sizingPageCommand = "sizing-page"

const (
	mib = 1 << 20
	gib = 1 << 30

	// plannedContent is the size of a pod without managedFields that the page plans with, in bytes.
	plannedContent = 5000
	// otherObjects is the number of objects for each pod, including it. Pods are two thirds of what the
	// chart serves by default.
	otherObjects = 1.5
	// eventsEach is the number of streams that receive each change.
	eventsEach = 10
	// reserve is the memory for garbage, and for lists in light use.
	reserve = 512 * mib
	// callersBound is what callers can use in the worst case: docs/planning.md.
	callersBound = 500e6 + 1350e6
	// streamsOfReplica is the number of streams with which a replica has nearly all connections that
	// are allowed by default.
	streamsOfReplica = 4000
)

// plannedCluster is a row of the first table.
type plannedCluster struct {
	Name                   string
	Pods, Changes, Streams int
}

var plannedClusters = []plannedCluster{
	{"small", 2000, 20, 200},
	{"medium", 20_000, 200, 1000},
	{"large", 100_000, 1000, 5000},
	{"very large", 300_000, 3000, 10_000},
	{"the largest", 1_000_000, 5000, 20_000},
}

// Replicas returns the number of replicas of which one can be missing.
func (c plannedCluster) Replicas() int { return 1 + (c.Streams+streamsOfReplica-1)/streamsOfReplica }

// memory returns the memory in bytes that the formula of the page gives for objects of a size.
func (m *sizing) memory(objects, size, streams float64) float64 {
	return m.Objects.ServiceBytes + objects*2*(size+m.Objects.AdditionalBytes) + streams*m.Streams.OwnBytes + reserve
}

// memoryLimit returns the limit for simulated pods without streams.
func (m *sizing) memoryLimit(pods int) float64 {
	return m.memory(float64(pods), m.Objects.ContentBytes, 0)
}

// Light returns the memory of a replica when all streams are at all replicas but one.
func (m *sizing) Light(c plannedCluster) float64 {
	streams := float64(c.Streams) / float64(c.Replicas()-1)
	return m.memory(otherObjects*float64(c.Pods), plannedContent, streams)
}

// Worst returns the memory with the worst case of callers.
func (m *sizing) Worst(c plannedCluster) float64 { return m.Light(c) - reserve + callersBound }

// Cores returns the processors that a replica uses, when all streams are at all replicas but one.
func (m *sizing) Cores(c plannedCluster) float64 {
	events := float64(c.Changes*eventsEach) / float64(c.Replicas()-1)
	return float64(c.Changes)*m.Ingest()/1e6 + m.Events(events)
}

// Ingest returns the CPU time of a change in microseconds: the median of all clusters at the highest
// rate.
func (m *sizing) Ingest() float64 {
	var each []float64
	for _, c := range m.Clusters {
		each = append(each, c.Rates[len(c.Rates)-1].CPUMicrosPerChange)
	}
	return median(each)
}

// Events returns the processors for a number of events each second.
func (m *sizing) Events(perSecond float64) float64 {
	return perSecond * m.FanOut.CPUMicrosPerEvent / 1e6
}

// SnapshotEach returns the CPU time of an object in the first snapshot, in microseconds.
func (m *sizing) SnapshotEach() float64 {
	var each []float64
	for _, c := range m.Clusters {
		each = append(each, c.SnapshotCPUSeconds*1e6/float64(c.Pods))
	}
	return slices.Max(each)
}

// Snapshot returns the CPU time of the first snapshot in seconds.
func (m *sizing) Snapshot(objects float64) float64 { return objects * m.SnapshotEach() / 1e6 }

func (m *sizing) largest() clusterFigures {
	return slices.MaxFunc(m.Clusters, func(a, b clusterFigures) int { return a.Pods - b.Pods })
}

func (m *sizing) LargestPods() int                  { return m.largest().Pods }
func (m *sizing) SnapshotSecondsOfLargest() float64 { return m.largest().SnapshotSeconds }

// ObjectBytes returns the memory of a simulated pod.
func (m *sizing) ObjectBytes() float64 { return m.Objects.ContentBytes + m.Objects.AdditionalBytes }

func (m *sizing) APIServerRatio() float64 { return m.APIServer.BytesPerPod / m.ObjectBytes() }

func (m *sizing) APIServerMemory(pods int) float64 { return float64(pods) * m.APIServer.BytesPerPod }
func (m *sizing) ObjectsMemory(pods int) float64   { return float64(pods) * m.ObjectBytes() }

// page returns docs/sizing.md.
func (m *sizing) page() (string, error) {
	parsed, err := template.New("sizing").Funcs(template.FuncMap{
		"clusters":       func() []plannedCluster { return plannedClusters },
		"cacheSizes":     func() []int { return []int{20_000, 300_000, 1_000_000} },
		"plannedContent": func() float64 { return plannedContent },
		"others":         func() float64 { return otherObjects },
		"eventsEach":     func() int { return eventsEach },
		"reserve":        func() float64 { return reserve },
		"fig":            figure,
		"cores":          figure,
		"count":          grouped,
		"kb":             func(bytes any) string { return figure(number(bytes)/1e3) + " KB" },
		"mb":             func(bytes any) string { return grouped(number(bytes)/1e6) + " MB" },
		"gb":             func(bytes any) string { return figure(number(bytes)/1e9) + " GB" },
		"gib":            func(bytes float64) string { return fmt.Sprintf("%g GiB", math.Ceil(bytes/gib*2)/2) },
		"us":             func(micros float64) string { return figure(micros) + " µs" },
	}).Parse(sizingText)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = parsed.Execute(&text, m)
	return text.String(), err
}

func number(value any) float64 {
	if whole, ok := value.(int); ok {
		return float64(whole)
	}
	return value.(float64)
}

// grouped formats a number without decimals, in groups of three digits.
func grouped(value any) string {
	digits := fmt.Sprintf("%.0f", number(value))
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// writeSizingPage writes docs/sizing.md from the figures that were measured last.
func writeSizingPage() error {
	measured, err := readFigures(sizingFile)
	if err != nil {
		return err
	}
	page, err := measured.page()
	if err != nil {
		return err
	}
	return os.WriteFile(sizingPage, []byte(page), 0o644)
}
