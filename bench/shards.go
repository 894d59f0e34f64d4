package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// shardsComparison is the name of the measurement of sharded list and watch (KEP-5866), which
// docs/sizing.md has too. It has a control plane of its own, and runs only if it is named.
const shardsComparison = "shards"

// shardsFile has its figures, relative to the top of the checkout.
const shardsFile = "bench/shards.json"

// shardingGate makes devcluster enable the feature.
var shardingGate = []string{"--apiserver-arg", "feature-gates=ShardedListAndWatch=true"}

const (
	// snapshotRepeats is the number of processes, one after the other, in a round. The API server
	// collects garbage after every second or third snapshot, which takes as long as a snapshot.
	snapshotRepeats = 4
	// changingPods is the number of pods while changes are made, which is small because the API server's
	// garbage collection would otherwise hide the cost of a change.
	changingPods = 2000
	// shardedChanges is the number of changes of a round, made in bursts.
	shardedChanges = 5000
	shardedBurst   = 50
	shardedEach    = 100 * time.Millisecond
)

// shards has the figures of the measurement: medians of all rounds.
type shards struct {
	Machine      string          `json:"machine"`
	Date         string          `json:"date"`
	Remark       string          `json:"remark,omitempty"` // about the run, for readers of the page
	Pods         int             `json:"pods"`
	PodBytes     int             `json:"podBytes"`
	Rounds       int             `json:"rounds"`
	ChangingPods int             `json:"changingPods"`
	ChangeRounds int             `json:"changeRounds"`
	Snapshots    []snapshotCost  `json:"snapshots"`
	Changes      []changeCost    `json:"changes"`
	Disabled     disabledOutcome `json:"disabled"`
	// InvalidStatus is the HTTP status of a list with a selector that cannot be parsed.
	InvalidStatus int `json:"invalidStatus"`
}

// snapshotCost is the cost of the first snapshot. The ratios are those to one Reflector of all pods
// that reads in the same way, in the same round.
type snapshotCost struct {
	partReading
	Seconds          float64 `json:"seconds"`
	ClientCPUSeconds float64 `json:"clientCPUSeconds"`
	ServerCPUSeconds float64 `json:"serverCPUSeconds"`

	SecondsRatio   ratioRange `json:"secondsRatio"`
	ClientCPURatio ratioRange `json:"clientCPURatio"`
	ServerCPURatio ratioRange `json:"serverCPURatio"`

	rounds []snapshotCost
}

// changeCost is the CPU time of the API server for a change, without Reflectors if their number is 0.
type changeCost struct {
	partReading
	ServerCPUMicros float64    `json:"serverCPUMicros"`
	ServerCPURatio  ratioRange `json:"serverCPURatio"` // to one Reflector of all pods

	rounds []float64
}

// disabledOutcome is what Reflectors receive that ask for parts at an API server without the feature.
type disabledOutcome struct {
	partReading
	Objects  int `json:"objects"`
	Distinct int `json:"distinct"`
	Echoed   int `json:"echoed"`
}

// ratioRange is the median, the smallest and the largest ratio of all rounds.
type ratioRange struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func ratioRangeOf(ratios []float64) ratioRange {
	return ratioRange{median(ratios), slices.Min(ratios), slices.Max(ratios)}
}

// String formats a ratio for docs/sizing.md.
func (s ratioRange) String() string {
	return fmt.Sprintf("%s× (%s–%s)", figure(s.Median), figure(s.Min), figure(s.Max))
}

// String names a reading for docs/sizing.md.
func (p partReading) String() string {
	objects := "all pods each"
	switch {
	case p.Reflectors == 0:
		return "none"
	case p.Reflectors == 1:
		objects = "all pods"
	case p.Sharded:
		objects = "a part each"
	}
	by := "by a watch"
	if p.Listed {
		by = "by a list"
	}
	return fmt.Sprintf("%d, %s, %s", p.Reflectors, objects, by)
}

var (
	// snapshotReadings are compared with the first one that reads in the same way.
	snapshotReadings = []partReading{
		{Reflectors: 1},
		{Reflectors: 2, Sharded: true},
		{Reflectors: 4, Sharded: true},
		{Reflectors: 4},
		{Reflectors: 1, Listed: true},
		{Reflectors: 2, Sharded: true, Listed: true},
		{Reflectors: 4, Sharded: true, Listed: true},
		{Reflectors: 4, Listed: true},
	}
	// changeReadings are compared with the second one.
	changeReadings = []partReading{
		{},
		{Reflectors: 1},
		{Reflectors: 4, Sharded: true},
		{Reflectors: 4},
	}
)

// measureShards measures what Reflectors that read a part of the pods each cost, and writes the
// figures and docs/sizing.md.
func measureShards(ctx context.Context, s settings) error {
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "kubeconnect-shards-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		s.dir = dir
	}
	measured := &shards{
		Machine: thisMachine(), Date: time.Now().UTC().Format(time.DateOnly), Pods: s.pods, Rounds: s.rounds,
	}
	if err := inLab(ctx, s, shardingGate, measured.measureEnabled); err != nil {
		return err
	}
	if err := inLab(ctx, s, nil, measured.measureDisabled); err != nil {
		return err
	}
	s.dir, s.pods = filepath.Join(s.dir, "changes"), min(s.pods, changingPods)
	if err := inLab(ctx, s, shardingGate, measured.measureChanges); err != nil {
		return err
	}
	return saveFigures(measured, s.output, shardsFile)
}

// inLab runs a function with a control plane that has devcluster's flags.
func inLab(ctx context.Context, s settings, flags []string, do func(context.Context, *lab) error) error {
	note("starting the control plane %v", flags)
	cluster := &controlPlane{dir: s.dir, flags: flags}
	defer cluster.stop()
	if err := cluster.start(ctx, nil); err != nil {
		return err
	}
	l := &lab{scale: s.scale, cluster: cluster}
	if err := l.fill(ctx, &report{}); err != nil {
		return err
	}
	return do(ctx, l)
}

func (m *shards) measureEnabled(ctx context.Context, l *lab) error {
	size, err := l.cluster.sizeOfAPod(ctx)
	if err != nil {
		return err
	}
	m.PodBytes = size.whole
	if err := m.measureInvalid(ctx, l); err != nil {
		return err
	}
	return m.measureSnapshots(ctx, l)
}

// measureInvalid reads with a selector that cannot be parsed.
func (m *shards) measureInvalid(ctx context.Context, l *lab) error {
	result := l.cluster.client.CoreV1().RESTClient().Get().Resource("pods").
		Param("shardSelector", "shardRange(object.metadata.name)").Do(ctx).StatusCode(&m.InvalidStatus)
	if m.InvalidStatus == http.StatusOK {
		return fmt.Errorf("the API server has accepted an invalid selector")
	}
	note("shards: an invalid selector has the status %d: %v", m.InvalidStatus, result.Error())
	return nil
}

func (m *shards) measureSnapshots(ctx context.Context, l *lab) error {
	for _, how := range snapshotReadings {
		m.Snapshots = append(m.Snapshots, snapshotCost{partReading: how})
	}
	err := l.eachRound(func(round int) error {
		note("shards: first snapshots, round %d", round+1)
		for i := range m.Snapshots {
			cost, err := l.snapshotCost(ctx, m.Snapshots[i].partReading)
			if err != nil {
				return fmt.Errorf("%+v: %w", m.Snapshots[i].partReading, err)
			}
			m.Snapshots[i].rounds = append(m.Snapshots[i].rounds, cost)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range m.Snapshots {
		one := slices.IndexFunc(m.Snapshots, func(c snapshotCost) bool { return c.Listed == m.Snapshots[i].Listed })
		m.Snapshots[i].summarize(m.Snapshots[one].rounds)
	}
	return nil
}

// snapshotCost measures the first snapshot of processes with Reflectors, and returns the mean. It fails
// unless the parts are complete and disjoint.
func (l *lab) snapshotCost(ctx context.Context, how partReading) (mean snapshotCost, err error) {
	if err := pause(ctx, calm); err != nil {
		return mean, err
	}
	cpu, err := cpuDuring(func() error {
		for range snapshotRepeats {
			process, first, err := l.cluster.startReflectors(ctx, how)
			if err != nil {
				return err
			}
			process.stop()
			if err := first.check(how, l.pods); err != nil {
				return err
			}
			mean.Seconds += first.Seconds / snapshotRepeats
			mean.ClientCPUSeconds += first.CPUSeconds / snapshotRepeats
		}
		return nil
	}, l.cluster.apiServer)
	if err != nil {
		return mean, err
	}
	mean.ServerCPUSeconds = cpu[0].Seconds() / snapshotRepeats
	return mean, nil
}

// check returns an error unless the Reflectors have received what they asked for.
func (r reflected) check(how partReading, pods int) error {
	want := reflected{Objects: pods, Distinct: pods}
	if !how.Sharded {
		want.Objects *= how.Reflectors
	}
	if how.Sharded && how.Listed {
		want.Echoed = how.Reflectors
	}
	if r.Objects != want.Objects || r.Distinct != want.Distinct || r.Foreign != 0 || r.Echoed != want.Echoed {
		return fmt.Errorf("received %+v, want %d objects, %d different ones, and %d echoed selectors",
			r, want.Objects, want.Distinct, want.Echoed)
	}
	return nil
}

// summarize computes the medians of the rounds, and their ratios to those of one Reflector.
func (c *snapshotCost) summarize(one []snapshotCost) {
	for _, value := range []struct {
		of    func(snapshotCost) float64
		to    *float64
		ratio *ratioRange
	}{
		{func(c snapshotCost) float64 { return c.Seconds }, &c.Seconds, &c.SecondsRatio},
		{func(c snapshotCost) float64 { return c.ClientCPUSeconds }, &c.ClientCPUSeconds, &c.ClientCPURatio},
		{func(c snapshotCost) float64 { return c.ServerCPUSeconds }, &c.ServerCPUSeconds, &c.ServerCPURatio},
	} {
		var all, ratios []float64
		for i, round := range c.rounds {
			all = append(all, value.of(round))
			ratios = append(ratios, value.of(round)/value.of(one[i]))
		}
		*value.to, *value.ratio = median(all), ratioRangeOf(ratios)
	}
}

// measureChanges measures the CPU time of the API server for changes that Reflectors receive.
func (m *shards) measureChanges(ctx context.Context, l *lab) error {
	changes, err := l.changer(ctx, func(int) bool { return true })
	if err != nil {
		return err
	}
	defer changes.close()
	m.ChangingPods = l.pods
	for _, how := range changeReadings {
		m.Changes = append(m.Changes, changeCost{partReading: how})
	}
	if _, err := l.changeCost(ctx, changes, partReading{}); err != nil { // grows the API server's buffers
		return err
	}
	err = l.fewRounds(func(round int) error {
		note("shards: changes, round %d", round+1)
		for i := range m.Changes {
			cost, err := l.changeCost(ctx, changes, m.Changes[i].partReading)
			if err != nil {
				return fmt.Errorf("%+v: %w", m.Changes[i].partReading, err)
			}
			m.Changes[i].rounds = append(m.Changes[i].rounds, cost)
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.ChangeRounds = len(m.Changes[0].rounds)
	for i := range m.Changes {
		var ratios []float64
		for round, cost := range m.Changes[i].rounds {
			ratios = append(ratios, cost/m.Changes[1].rounds[round])
		}
		m.Changes[i].ServerCPUMicros, m.Changes[i].ServerCPURatio = median(m.Changes[i].rounds), ratioRangeOf(ratios)
	}
	return nil
}

// changeCost makes changes until the Reflectors have received each of them, and returns the CPU time of
// the API server for each in microseconds. It fails if a change is received by another number of
// Reflectors than asked for.
func (l *lab) changeCost(ctx context.Context, changes *changer, how partReading) (float64, error) {
	copies := how.Reflectors
	if how.Sharded {
		copies = 1
	}
	received := func() error { return nil }
	if how.Reflectors > 0 {
		process, _, err := l.cluster.startReflectors(ctx, how)
		if err != nil {
			return 0, err
		}
		defer process.stop()
		received = func() error {
			last, err := process.until(ctx, func(r reflected) bool { return r.Changes >= copies*shardedChanges })
			if err == nil && last.Changes != copies*shardedChanges {
				err = fmt.Errorf("received %d changes, want %d", last.Changes, copies*shardedChanges)
			}
			return err
		}
	}
	if err := pause(ctx, calm); err != nil {
		return 0, err
	}
	cpu, err := cpuDuring(func() error {
		if err := changes.bursts(ctx, shardedBurst, shardedEach, shardedChanges); err != nil {
			return err
		}
		return received()
	}, l.cluster.apiServer)
	if err != nil {
		return 0, err
	}
	return micros(cpu[0]) / shardedChanges, nil
}

// measureDisabled asks for parts at an API server without the feature.
func (m *shards) measureDisabled(ctx context.Context, l *lab) error {
	how := partReading{Reflectors: 4, Sharded: true, Listed: true}
	process, first, err := l.cluster.startReflectors(ctx, how)
	if err != nil {
		return err
	}
	process.stop()
	m.Disabled = disabledOutcome{partReading: how, Objects: first.Objects, Distinct: first.Distinct, Echoed: first.Echoed}
	return nil
}
