package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The changes that each program watches: pythonChanges in bursts, of which the official client can
// receive one in burstInterval, and then singleChanges one by one.
const (
	burstInterval  = 83 * time.Millisecond
	singleChanges  = 50
	singleInterval = 20 * time.Millisecond
)

// pythonWatch are the costs of changes for each program.
type pythonWatch struct {
	bursts, singles pythonCosts[pythonCost]
}

// comparePythonWatches compares the cost of a change for programs that watch it. They watch one after
// the other, because processes that wake at the same time slow each other down.
func (l *lab) comparePythonWatches(ctx context.Context, s *service, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	pairs := slices.Concat(pythonPairs, slowPythonPairs)
	costs := pythonWatch{bursts: pythonCosts[pythonCost]{}, singles: pythonCosts[pythonCost]{}}
	err = l.eachPython(results, pairs, func(program string) error {
		return l.watchInPython(ctx, s, program, changes, costs)
	})
	if err != nil {
		return err
	}
	const unit = "µs a change"
	inBursts := fmt.Sprintf("watch %d changes in Python, bursts of %d", l.pythonChanges, l.changes)
	results.addPythonCPU(costs.bursts, pythonPairs, inBursts, unit, func(p pythonPair) string { return p.watchFirst })
	results.addPythonMemory(costs.bursts, pythonPairs, inBursts)
	results.addPythonCPU(costs.singles, pairs, "watch 50 changes a second in Python", unit, noTarget)
	return nil
}

// watchInPython adds the costs of a program in a round.
func (l *lab) watchInPython(ctx context.Context, s *service, program string, changes *changer, costs pythonWatch) error {
	inBursts := l.pythonChanges / ((l.rounds + 1) / 2)
	if !slices.Contains(programsOf(pythonPairs), program) {
		inBursts = 0
	}
	p, err := l.startPython(s, program, "watch", fanOutNamespace, fanOutPods, inBursts, singleChanges)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := p.synced(ctx); err != nil {
		return err
	}
	if inBursts > 0 {
		cost, err := l.watchChanges(ctx, p, changes, inBursts, l.changes, burstInterval)
		if err != nil {
			return err
		}
		costs.bursts.add(program, cost)
	}
	cost, err := l.watchChanges(ctx, p, changes, singleChanges, 1, singleInterval)
	if err == nil {
		costs.singles.add(program, cost)
	}
	return err
}

// watchChanges makes a number of changes in bursts, blocks until the program has received them, and
// returns the cost of one.
func (l *lab) watchChanges(
	ctx context.Context, p *pythonProcess, changes *changer, number, burst int, each time.Duration,
) (cost pythonCost, err error) {
	pods := l.podsReadAt(changes.next(number))
	if err := changes.bursts(ctx, burst, each, number); err != nil {
		return pythonCost{}, err
	}
	report, err := p.read(ctx, pods)
	if err != nil {
		return pythonCost{}, err
	}
	cost.cpu = 1e6 * report.CPU / float64(number)
	err = p.measureMemory(ctx, &cost)
	return cost, err
}
