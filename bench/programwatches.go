package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The changes that each program watches: programChanges in bursts, of which the official client can
// receive one in burstInterval, and then singleChanges one by one.
const (
	burstInterval  = 83 * time.Millisecond
	singleChanges  = 50
	singleInterval = 20 * time.Millisecond
)

// watchCosts are the costs of changes for each program.
type watchCosts struct {
	bursts, singles programCosts[programCost]
}

// compareWatches compares the cost of a change for programs that watch it. They watch one after
// the other, because processes that wake at the same time slow each other down.
func (p *programs) compareWatches(ctx context.Context) error {
	changes, err := p.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	pairs := slices.Concat(p.pairs, p.slowPairs)
	costs := watchCosts{bursts: programCosts[programCost]{}, singles: programCosts[programCost]{}}
	err = p.each(pairs, func(program clientProgram) error { return p.watch(ctx, program, changes, costs) })
	if err != nil {
		return err
	}
	const unit = "µs a change"
	inBursts := fmt.Sprintf("watch %d changes in %s, bursts of %d", p.programChanges, p.name, p.changes)
	p.results.addProgramCPU(costs.bursts, p.pairs, inBursts, unit, func(pair programPair) string { return pair.watchFirst })
	p.results.addProgramMemory(costs.bursts, p.pairs, inBursts)
	p.results.addProgramCPU(costs.singles, pairs, "watch 50 changes a second in "+p.name, unit, noTarget)
	return nil
}

// watch adds the costs of a program in a round.
func (p *programs) watch(ctx context.Context, program clientProgram, changes *changer, costs watchCosts) error {
	inBursts := p.programChanges / ((p.rounds + 1) / 2)
	if !slices.Contains(programsOf(p.pairs), program) {
		inBursts = 0
	}
	process, err := p.start(program, "watch", fanOutNamespace, fanOutPods, inBursts, singleChanges)
	if err != nil {
		return err
	}
	defer process.stop()
	if _, err := process.synced(ctx); err != nil {
		return err
	}
	if inBursts > 0 {
		cost, err := p.watchChanges(ctx, process, changes, inBursts, p.changes, burstInterval)
		if err != nil {
			return err
		}
		costs.bursts.add(program, cost)
	}
	cost, err := p.watchChanges(ctx, process, changes, singleChanges, 1, singleInterval)
	if err == nil {
		costs.singles.add(program, cost)
	}
	return err
}

// watchChanges makes a number of changes in bursts, blocks until the program has received them, and
// returns the cost of one.
func (p *programs) watchChanges(
	ctx context.Context, process *programProcess, changes *changer, number, burst int, each time.Duration,
) (cost programCost, err error) {
	pods := p.podsReadAt(changes.next(number))
	if err := changes.bursts(ctx, burst, each, number); err != nil {
		return programCost{}, err
	}
	report, err := process.read(ctx, pods)
	if err != nil {
		return programCost{}, err
	}
	cost.cpu = 1e6 * report.CPU / float64(number)
	err = process.measureMemory(ctx, &cost)
	return cost, err
}
