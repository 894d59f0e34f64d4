package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// storeRest is the duration of the measurement at rest.
	storeRest = 3 * time.Second

	storeChangeRate = 500 // changes a second, in bursts of storeBurst
	storeBurst      = 10
	storeChangeTime = 5 * time.Second
	storeChanges    = storeChangeRate * int(storeChangeTime/time.Second)
)

// pythonStores are compared with the informer of the official client.
var pythonStores = []pythonPair{
	{ours: pythonObjects, theirs: pythonOfficial},
	{ours: pythonMessages, theirs: pythonOfficial},
	{ours: pythonFields, theirs: pythonOfficial},
}

// pythonStore is what a store has used. Memory is in megabytes.
type pythonStore struct {
	imported float64 // memory of the process after the imports
	resting  float64 // memory of the process when it has settled
	restCPU  float64 // percent of a core at rest
	changing float64 // memory of the process after the changes
	change   float64 // CPU time of a change in microseconds
}

// comparePythonStores compares stores with the informer of the official client.
func (l *lab) comparePythonStores(ctx context.Context, s *service, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool {
		return number >= fanOutPods && number < fanOutPods+storeChangeRate // in listNamespace
	})
	if err != nil {
		return err
	}
	defer changes.close()
	costs := pythonCosts[pythonStore]{}
	pods := l.podsReadAt(l.placesIn(listNamespace))
	err = l.eachPython(results, pythonStores, func(program string) error {
		cost, err := l.pythonStore(ctx, s, program, pods, changes)
		if err == nil {
			costs.add(program, cost)
		}
		return err
	})
	if err == nil {
		results.addPythonStores(costs, pods.count)
	}
	return err
}

// addPythonStores adds the rows of stores with a number of pods.
func (r *report) addPythonStores(costs pythonCosts[pythonStore], pods int) {
	store := fmt.Sprintf("store %d pods in Python, ", pods)
	changes := fmt.Sprintf("%s of %d changes a second", storeChangeTime, storeChangeRate)
	for _, each := range []struct {
		what, unit, first string
		value             func(pythonStore) float64
	}{
		{store + "memory at rest", "MB", "10×", func(s pythonStore) float64 { return s.resting - s.imported }},
		{store + "the whole process at rest", "MB", "", func(s pythonStore) float64 { return s.resting }},
		{store + "memory after " + changes, "MB", "10×", func(s pythonStore) float64 { return s.changing - s.imported }},
		{store + "the whole process after " + changes, "MB", "", func(s pythonStore) float64 { return s.changing }},
		{store + "client CPU in " + changes, "µs a change", "", func(s pythonStore) float64 { return s.change }},
	} {
		for _, pair := range pythonStores {
			costs.addCompared(r, pair, each.what, each.unit, each.first, each.value)
		}
	}
	for _, program := range programsOf(pythonStores) {
		if used := costs[program]; len(used) > 0 {
			r.remark("at rest, the store of a Python program with %s used %.1f %% of a core", pythonNames[program], used[0].restCPU)
		}
	}
}

// pythonStore returns what the store of a program uses.
func (l *lab) pythonStore(
	ctx context.Context, s *service, program string, pods podsRead, changes *changer,
) (used pythonStore, err error) {
	p, err := l.startPython(s, program, "store", listNamespace, pods.count)
	if err != nil {
		return pythonStore{}, err
	}
	defer p.stop()
	if err := p.synced(ctx); err != nil {
		return pythonStore{}, err
	}
	if used.imported, err = p.importedMB(ctx); err != nil {
		return pythonStore{}, err
	}
	if err := used.measureAtRest(ctx, p); err != nil {
		return pythonStore{}, err
	}
	if err := used.measureChanges(ctx, p, changes); err != nil {
		return pythonStore{}, err
	}
	p.stop()
	report, err := p.read(ctx, pods)
	if err == nil && report.Changes != storeChanges {
		err = fmt.Errorf("%s has handled %d changes, want %d", program, report.Changes, storeChanges)
	}
	return used, err
}

func (s *pythonStore) measureAtRest(ctx context.Context, p *pythonProcess) error {
	resting, err := settledRSS(ctx, p.PID())
	if err != nil {
		return err
	}
	cpu, err := cpuDuring(func() error { return pause(ctx, storeRest) }, p.PID())
	if err != nil {
		return err
	}
	s.resting, s.restCPU = megabytes(resting), 100*cpu[0].Seconds()/storeRest.Seconds()
	return nil
}

func (s *pythonStore) measureChanges(ctx context.Context, p *pythonProcess, changes *changer) error {
	cpu, err := cpuDuring(func() error {
		if err := changes.bursts(ctx, storeBurst, time.Second*storeBurst/storeChangeRate, storeChanges); err != nil {
			return err
		}
		return p.untilIdle(ctx)
	}, p.PID())
	if err != nil {
		return err
	}
	after, err := usageOf(p.PID())
	if err != nil {
		return err
	}
	s.change, s.changing = float64(cpu[0].Microseconds())/float64(storeChanges), megabytes(after.rss)
	return nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
