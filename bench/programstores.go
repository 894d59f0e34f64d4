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

// storeCost is what a store has used. Memory is in megabytes.
type storeCost struct {
	filled   float64 // CPU time in milliseconds until all pods were received; 0 if it is not reported
	imported float64 // memory of the process after the imports
	resting  float64 // memory of the process when it has settled
	restCPU  float64 // percent of a core at rest
	changing float64 // memory of the process after the changes
	change   float64 // CPU time of a change in microseconds
}

// compareStores compares stores with the informer of the official client.
func (p *programs) compareStores(ctx context.Context) error {
	changes, err := p.changer(ctx, func(number int) bool {
		return number >= fanOutPods && number < fanOutPods+storeChangeRate // in listNamespace
	})
	if err != nil {
		return err
	}
	defer changes.close()
	costs := programCosts[storeCost]{}
	pods := p.podsReadAt(p.placesIn(listNamespace))
	err = p.each(p.storePairs, func(program clientProgram) error {
		cost, err := p.store(ctx, program, pods, changes)
		if err == nil {
			costs.add(program, cost)
		}
		return err
	})
	if err == nil {
		p.addStores(costs, pods.count)
	}
	return err
}

// addStores adds the rows of stores with a number of pods.
func (p *programs) addStores(costs programCosts[storeCost], pods int) {
	store := fmt.Sprintf("store %d pods in %s, ", pods, p.name)
	changes := fmt.Sprintf("%s of %d changes a second", storeChangeTime, storeChangeRate)
	p.addFilled(costs, store+"client CPU until all are received")
	for _, each := range []struct {
		what, unit string
		first      func(programPair) string
		value      func(storeCost) float64
	}{
		{store + "memory at rest", "MB", memoryTarget, func(s storeCost) float64 { return s.resting - s.imported }},
		{store + "the whole process at rest", "MB", noTarget, func(s storeCost) float64 { return s.resting }},
		{store + "memory after " + changes, "MB", memoryTarget, func(s storeCost) float64 { return s.changing - s.imported }},
		{store + "the whole process after " + changes, "MB", noTarget, func(s storeCost) float64 { return s.changing }},
		{store + "client CPU in " + changes, "µs a change", storedTarget, func(s storeCost) float64 { return s.change }},
	} {
		for _, pair := range p.storePairs {
			costs.addCompared(p.results, pair, each.what, each.unit, each.first(pair), each.value)
		}
	}
	p.remarkRest(costs)
}

// addFilled adds the rows of the CPU time until a store is filled, for the pairs with a target.
func (p *programs) addFilled(costs programCosts[storeCost], what string) {
	for _, pair := range p.storePairs {
		if pair.fillFirst != "" {
			costs.addCompared(p.results, pair, what, "ms", pair.fillFirst, func(s storeCost) float64 { return s.filled })
		}
	}
}

// remarkRest adds a remark for each program with the CPU time of its store at rest.
func (p *programs) remarkRest(costs programCosts[storeCost]) {
	for _, program := range programsOf(p.storePairs) {
		if used := costs[program]; len(used) > 0 {
			p.results.remark("at rest, the store of a %s program with %s used %.1f %% of a core", p.name, program.name, used[0].restCPU)
		}
	}
}

func memoryTarget(pair programPair) string { return pair.memoryFirst }

func storedTarget(pair programPair) string { return pair.storedFirst }

// store returns what the store of a program uses.
func (p *programs) store(
	ctx context.Context, program clientProgram, pods podsRead, changes *changer,
) (used storeCost, err error) {
	process, err := p.start(program, "store", listNamespace, pods.count)
	if err != nil {
		return storeCost{}, err
	}
	defer process.stop()
	if err := used.measureFilling(ctx, process); err != nil {
		return storeCost{}, err
	}
	if err := used.measureAtRest(ctx, process); err != nil {
		return storeCost{}, err
	}
	if err := used.measureChanges(ctx, process, changes); err != nil {
		return storeCost{}, err
	}
	process.stop()
	report, err := process.read(ctx, pods)
	if err == nil && report.Changes != storeChanges {
		err = fmt.Errorf("%s has handled %d changes, want %d", program.file, report.Changes, storeChanges)
	}
	return used, err
}

func (s *storeCost) measureFilling(ctx context.Context, p *programProcess) error {
	synced, err := p.synced(ctx)
	if err != nil {
		return err
	}
	s.filled = 1000 * synced.CPU
	s.imported, err = p.importedMB(ctx)
	return err
}

func (s *storeCost) measureAtRest(ctx context.Context, p *programProcess) error {
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

func (s *storeCost) measureChanges(ctx context.Context, p *programProcess, changes *changer) error {
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
