package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// sizingComparison is the name of the measurement that docs/sizing.md is made from. It has no other
// side, takes about twenty minutes, and runs only if it is named.
const sizingComparison = "sizing"

// sizingScale is the size of the measurement.
type sizingScale struct {
	clusters  []sizedCluster
	memory    int           // pods with which the memory of one is measured
	rates     []int         // changes each second
	limits    []int         // changes each second, until one of them cannot be kept
	during    time.Duration // of each measurement of a rate
	streams   int           // opened for each measurement of their memory
	fanOut    int           // changes each second that watchers of all pods receive
	apiServer int           // pods of a real API server
}

// sizedCluster is a number of pods, and whether the service has the memory limit that docs/sizing.md
// computes for them.
type sizedCluster struct {
	pods    int
	limited bool
}

var (
	fullSizing = sizingScale{
		clusters: []sizedCluster{{100_000, false}, {300_000, true}, {1_000_000, true}},
		memory:   100_000, rates: []int{1000, 5000}, limits: []int{7500, 10_000, 15_000, 20_000, 30_000},
		during: 10 * time.Second, streams: 1000, fanOut: 50, apiServer: 20_000,
	}
	quickSizing = sizingScale{
		clusters: []sizedCluster{{5000, false}, {5000, true}},
		memory:   5000, rates: []int{100, 500}, limits: []int{1000},
		during: time.Second, streams: 200, fanOut: 10, apiServer: 1000,
	}
)

// measureSizing measures the coefficients of docs/sizing.md, and writes them and the page.
func measureSizing(ctx context.Context, s settings, scale sizingScale) error {
	measured := &sizing{Machine: thisMachine(), Date: time.Now().UTC().Format(time.DateOnly)}
	for _, measure := range []func(context.Context, sizingScale, *sizing) error{
		measureObjects, measureStreams, measureFanOut, measureAPIServer,
	} {
		if err := measure(ctx, scale, measured); err != nil {
			return err
		}
	}
	for _, c := range scale.clusters {
		if err := measured.measureCluster(ctx, scale, c); err != nil {
			return fmt.Errorf("%d pods: %w", c.pods, err)
		}
		if err := saveFigures(measured, s.output, sizingFile); err != nil {
			return err
		}
	}
	return nil
}

// measureObjects measures the memory of a cached pod, as the comparison of memory does.
func measureObjects(ctx context.Context, scale sizingScale, measured *sizing) error {
	note("sizing: memory of %d pods", scale.memory)
	sim, err := startSimulator(ctx, scale.memory)
	if err != nil {
		return err
	}
	defer sim.stop()
	s, err := sim.startMeasured(ctx, harness.Eager)
	if err != nil {
		return err
	}
	defer s.stop()
	empty, err := settledRSS(ctx, s.PID())
	if err != nil {
		return err
	}
	if err := s.untilAllListed(ctx, scale.memory); err != nil {
		return err
	}
	full, err := settledRSS(ctx, s.PID())
	if err != nil {
		return err
	}
	text, err := s.metrics(ctx)
	content := gauge(text, "kubeconnect_cache_bytes")
	measured.Objects = objectSize{
		Count:           scale.memory,
		ServiceBytes:    float64(empty),
		ContentBytes:    content / float64(scale.memory),
		AdditionalBytes: (float64(full-empty) - content) / float64(scale.memory),
	}
	return err
}

// measureStreams measures the memory of an idle stream, with a connection of its own and with one that
// it shares. Each stream is of a namespace that has no pods.
func measureStreams(ctx context.Context, scale sizingScale, measured *sizing) error {
	measured.Streams.Count = scale.streams
	for perConnection, bytes := range map[int]*float64{1: &measured.Streams.OwnBytes, 100: &measured.Streams.SharedBytes} {
		note("sizing: memory of %d streams, %s", scale.streams, shared(perConnection))
		if err := measureStreamsOn(ctx, perConnection, scale.streams, bytes); err != nil {
			return err
		}
	}
	return nil
}

func measureStreamsOn(ctx context.Context, perConnection, streams int, bytes *float64) error {
	sim, err := startSimulator(ctx, quick.pods)
	if err != nil {
		return err
	}
	defer sim.stop()
	s, err := sim.startFilled(ctx, harness.Eager)
	if err != nil {
		return err
	}
	defer s.stop()
	growing := &growing{server: s.watchedBy(podsIn(emptyNamespace, "")), pid: s.PID(), perConnection: perConnection}
	defer growing.close()
	if _, err := growing.grow(ctx, streams); err != nil { // uses up the reserve of the heap
		return err
	}
	kibibytes, err := growing.grow(ctx, streams)
	*bytes = kibibytes * 1024
	return err
}

// measureFanOut measures the CPU time of one event at one of many watchers of the same pods.
func measureFanOut(ctx context.Context, scale sizingScale, measured *sizing) error {
	note("sizing: %d watchers of the same pods", fullWatchers)
	sim, err := startSimulator(ctx, quick.pods)
	if err != nil {
		return err
	}
	defer sim.stop()
	s, err := sim.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := s.watchedBy(podsIn("", "")).open(ctx, fullWatchers, 1)
	if err != nil {
		return err
	}
	defer all.close()
	if err := all.until(ctx, fullWatchers, syncedOf); err != nil {
		return err
	}
	if err := sim.settleAt(ctx, scale.fanOut); err != nil {
		return err
	}
	before := all.sum(changesOf)
	cpu, err := cpuDuring(func() error { return pause(ctx, scale.during) }, s.PID())
	if err != nil {
		return err
	}
	events := float64(all.sum(changesOf) - before)
	measured.FanOut = fanOutCost{
		Watchers: fullWatchers, ChangesPerSecond: scale.fanOut, CPUMicrosPerEvent: micros(cpu[0]) / events,
	}
	return all.broken()
}

// fullWatchers is the number of watchers of all pods, and partWatchers of a namespace each.
const (
	fullWatchers = 100
	partWatchers = 100
)

func micros(duration time.Duration) float64 { return float64(duration) / float64(time.Microsecond) }

// measureAPIServer measures how much memory a real API server takes for each pod, with [harness.Eager]:
// the growth of its resident memory when the pods have been created, and after a restart, when its window
// of recent events is empty.
func measureAPIServer(ctx context.Context, scale sizingScale, measured *sizing) error {
	note("sizing: the API server's memory for %d pods", scale.apiServer)
	dir, err := os.MkdirTemp("", "kubeconnect-sizing-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var empty, created, restarted int64
	err = inControlPlane(ctx, dir, func(c *controlPlane) error {
		if empty, err = settledRSS(ctx, c.apiServer); err != nil {
			return err
		}
		if err := c.createPods(ctx, scale.apiServer); err != nil {
			return err
		}
		created, err = settledRSS(ctx, c.apiServer)
		return err
	})
	if err != nil {
		return err
	}
	var size podSize
	err = inControlPlane(ctx, dir, func(c *controlPlane) error {
		if size, err = c.sizeOfAPod(ctx); err != nil {
			return err
		}
		restarted, err = settledRSS(ctx, c.apiServer)
		return err
	})
	pods := float64(scale.apiServer)
	measured.APIServer = apiServerSize{
		Pods: scale.apiServer, PodBytes: size.whole,
		BytesPerPod: float64(restarted-empty) / pods, BytesPerNewPod: float64(created-empty) / pods,
	}
	return err
}

// inControlPlane runs a function while a control plane with its data in dir runs, after the API server
// has done what it does at its start.
func inControlPlane(ctx context.Context, dir string, do func(*controlPlane) error) error {
	cluster, err := startControlPlane(ctx, dir, harness.Eager)
	if err != nil {
		return err
	}
	defer cluster.stop()
	if err := pause(ctx, settling); err != nil {
		return err
	}
	return do(cluster)
}

// measureCluster measures a service with a number of pods, and adds the figures.
func (m *sizing) measureCluster(ctx context.Context, scale sizingScale, c sizedCluster) error {
	limit := 0.0
	if c.limited {
		limit = m.memoryLimit(c.pods)
	}
	note("sizing: %d pods, memory limit %.0f MB", c.pods, limit/1e6)
	figures, err := measureCluster(ctx, scale, c.pods, limit)
	m.Clusters = append(m.Clusters, figures)
	return err
}

// untilAllListed is untilListed with a client of its own.
func (s *service) untilAllListed(ctx context.Context, pods int) error {
	client, closeIdle := s.client()
	defer closeIdle()
	return s.untilListed(ctx, client, pods)
}

// sizingRun is the measurement of one number of pods.
type sizingRun struct {
	sizingScale
	sim     *simulator
	service *service
	result  clusterFigures
}

func measureCluster(ctx context.Context, scale sizingScale, pods int, limit float64) (clusterFigures, error) {
	sim, err := startSimulator(ctx, pods)
	if err != nil {
		return clusterFigures{}, err
	}
	defer sim.stop()
	r := &sizingRun{sizingScale: scale, sim: sim, result: clusterFigures{Pods: pods, LimitMB: limit / 1e6}}
	if err := r.start(ctx, limit); err != nil {
		return clusterFigures{}, err
	}
	defer r.service.stop()
	for _, measure := range []func(context.Context) error{
		r.measureIngest, r.measureOneWatcher, r.measurePartWatchers, r.measureRelist, r.measureExceeded,
	} {
		if err := measure(ctx); err != nil {
			return clusterFigures{}, err
		}
	}
	return r.result, nil
}

// start starts a service, and measures it until it has all pods and has settled.
func (r *sizingRun) start(ctx context.Context, limit float64) (err error) {
	variables := []string{"KUBECONNECT_PRELOAD=pods"}
	if limit > 0 {
		variables = append(variables, fmt.Sprintf("KUBECONNECT_MEMORY_LIMIT=%.0fMi", math.Ceil(limit/(1<<20))))
	}
	began := time.Now()
	if r.service, err = r.sim.startMeasured(ctx, variables...); err != nil {
		return err
	}
	if err := r.service.untilAllListed(ctx, r.result.Pods); err != nil {
		return err
	}
	r.result.SnapshotSeconds = time.Since(began).Seconds()
	used, err := usageOf(r.service.PID())
	if err != nil {
		return err
	}
	r.result.SnapshotCPUSeconds = used.cpu.Seconds()
	if r.result.SnapshotPeakMB, err = peakMB(r.service.PID()); err != nil {
		return err
	}
	rest, err := settledRSS(ctx, r.service.PID())
	r.result.RestMB = float64(rest) / 1e6
	return err
}

// measureIngest measures the CPU time of changes that nobody watches.
func (r *sizingRun) measureIngest(ctx context.Context) error {
	for _, rate := range r.rates {
		figures := rateFigures{ChangesPerSecond: rate}
		if err := r.sim.settleAt(ctx, rate); err != nil {
			return err
		}
		cost, err := r.cost(ctx, nil)
		if err != nil {
			return err
		}
		figures.CPUMicrosPerChange = cost.microsPerEvent
		r.result.Rates = append(r.result.Rates, figures)
	}
	return r.sim.setRate(ctx, 0)
}

// rateCost is the cost of changes at a rate, and their delays at the watchers.
type rateCost struct {
	microsPerEvent float64
	cores          float64
	delays         []float64
}

// cost measures the CPU time of the service for the changes of some time, and their delays if d is
// not nil.
func (r *sizingRun) cost(ctx context.Context, d *delayed) (c rateCost, err error) {
	before, err := r.sim.state(ctx)
	if err != nil {
		return c, err
	}
	cpu, err := cpuDuring(func() (err error) {
		if d == nil {
			return pause(ctx, r.during)
		}
		c.delays, err = d.measure(ctx, r.during)
		return err
	}, r.service.PID())
	if err != nil {
		return c, err
	}
	after, err := r.sim.state(ctx)
	c.microsPerEvent = micros(cpu[0]) / float64(after.Events-before.Events)
	c.cores = cpu[0].Seconds() / r.during.Seconds()
	return c, err
}

// measureOneWatcher measures one watcher of all pods.
func (r *sizingRun) measureOneWatcher(ctx context.Context) error {
	received := &delayed{}
	watcher, err := r.open(ctx, received, 1, "")
	if err != nil {
		return err
	}
	defer watcher.close()
	for i, rate := range r.rates {
		if err := r.sim.settleAt(ctx, rate); err != nil {
			return err
		}
		cost, err := r.cost(ctx, received)
		if err != nil {
			return err
		}
		r.result.Rates[i].One = newDelays(cost)
	}
	return r.drain(ctx, watcher)
}

// measurePartWatchers measures watchers of a namespace each, which receive each change once, and the
// highest rate at which their delay stays bounded.
func (r *sizingRun) measurePartWatchers(ctx context.Context) error {
	received := &delayed{}
	watchers, err := r.open(ctx, received, partWatchers, "team-%03d")
	if err != nil {
		return err
	}
	defer watchers.close()
	for i, rate := range r.rates {
		if err := r.sim.settleAt(ctx, rate); err != nil {
			return err
		}
		cost, err := r.cost(ctx, received)
		if err != nil {
			return err
		}
		r.result.Rates[i].Part = newDelays(cost)
	}
	return r.measureSustained(ctx, received, watchers)
}

// boundedDelay is the delay below which a rate is sustained, for 99 % of the changes of the last
// half of a measurement.
const boundedDelay = 1000 // milliseconds

func (r *sizingRun) measureSustained(ctx context.Context, received *delayed, watchers *audience) error {
	for _, rate := range append(r.rates[len(r.rates)-1:], r.limits...) {
		if err := r.sim.settleAt(ctx, rate); err != nil {
			return err
		}
		if err := pause(ctx, r.during/2); err != nil {
			return err
		}
		cost, err := r.cost(ctx, received)
		if err != nil {
			return err
		}
		// A service that lags behind receives few of the changes of that time, so their number counts too.
		if float64(len(cost.delays)) < 0.9*float64(rate)*r.during.Seconds() || quantile(cost.delays, 0.99) > boundedDelay {
			break
		}
		r.result.SustainedPerSecond, r.result.Sustained = rate, newDelays(cost)
	}
	return r.drain(ctx, watchers)
}

// open opens watches, of all pods or of a namespace each, and blocks until each has its pods.
func (r *sizingRun) open(ctx context.Context, received *delayed, watchers int, namespaces string) (*audience, error) {
	a, err := r.service.watchedWithDelays(podsInEach(namespaces), received).open(ctx, watchers, 10)
	if err != nil {
		return nil, err
	}
	if err := a.untilSynced(ctx); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// snapshotPoll is the interval at which large snapshots are checked.
const snapshotPoll = 100 * time.Millisecond

// untilSynced blocks until each watcher has received its snapshot, which takes minutes for 1,000,000
// pods.
func (a *audience) untilSynced(ctx context.Context) error {
	for a.sum(syncedOf) < int64(len(a.streams)) {
		if err := errors.Join(a.broken(), pause(ctx, snapshotPoll)); err != nil {
			return err
		}
	}
	return nil
}

// drain stops the changes, and waits until the watchers have received all of them.
func (r *sizingRun) drain(ctx context.Context, a *audience) error {
	if err := r.sim.setRate(ctx, 0); err != nil {
		return err
	}
	for deadline, last := time.Now().Add(deliveryTimeout), int64(-1); ; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		now := a.sum(changesOf)
		if now == last {
			return a.broken()
		}
		if last = now; time.Now().After(deadline) {
			return fmt.Errorf("changes still arrive %s after the last one", deliveryTimeout)
		}
	}
}

// measureRelist makes the service read all pods again while it has them.
func (r *sizingRun) measureRelist(ctx context.Context) error {
	relists, err := r.relists(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", r.service.PID()), []byte("5"), 0); err != nil {
		return fmt.Errorf("resetting the peak memory: %w", err) // needs Linux
	}
	began := time.Now()
	cpu, err := cpuDuring(func() error {
		if err := r.sim.expire(ctx); err != nil {
			return err
		}
		for now := relists; now == relists; {
			if err := pause(ctx, startPoll); err != nil {
				return err
			}
			if now, err = r.relists(ctx); err != nil {
				return err
			}
		}
		return nil
	}, r.service.PID())
	if err != nil {
		return err
	}
	r.result.RelistSeconds, r.result.RelistCPUSeconds = time.Since(began).Seconds(), cpu[0].Seconds()
	r.result.RelistPeakMB, err = peakMB(r.service.PID())
	return err
}

func (r *sizingRun) relists(ctx context.Context) (float64, error) {
	text, err := r.service.metrics(ctx)
	return gauge(text, "kubeconnect_cache_relists_total"), err
}

// measureExceeded reads for how long the memory limit was exceeded.
func (r *sizingRun) measureExceeded(ctx context.Context) error {
	text, err := r.service.metrics(ctx)
	r.result.LimitExceededSeconds = gauge(text, "kubeconnect_memory_limit_exceeded_seconds_total")
	return err
}

// settleAt sets the rate of changes, and waits for the first of them to be processed.
func (s *simulator) settleAt(ctx context.Context, rate int) error {
	if err := s.setRate(ctx, rate); err != nil {
		return err
	}
	return pause(ctx, 2*time.Second)
}

// startMeasured starts a service with metrics. The caller must call stop.
func (s *simulator) startMeasured(ctx context.Context, variables ...string) (*service, error) {
	return s.startService(ctx, append(variables, "KUBECONNECT_METRICS_LISTEN=127.0.0.1:0")...)
}
