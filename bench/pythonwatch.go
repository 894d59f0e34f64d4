package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The changes that each program watches in a round: pythonChanges in bursts, of which the official
// client can receive one in burstInterval, and then singleChanges one by one.
const (
	burstInterval  = 83 * time.Millisecond
	singleChanges  = 50
	singleInterval = 20 * time.Millisecond
)

// pythonWatch are the costs of changes for each program.
type pythonWatch struct {
	bursts, singles pythonCosts
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
	costs := pythonWatch{bursts: pythonCosts{}, singles: pythonCosts{}}
	err = l.fewRounds(func(int) error {
		for _, program := range programsOf(pairs) {
			if err := l.watchInPython(ctx, s, program, changes, costs); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	const unit = "µs a change"
	inBursts := fmt.Sprintf("watch %d changes in Python, bursts of %d", (l.rounds+1)/2*l.pythonChanges, l.changes)
	results.addPythonCPU(costs.bursts, pythonPairs, inBursts, unit, func(p pythonPair) string { return p.watchFirst })
	results.addPythonMemory(costs.bursts, pythonPairs, inBursts)
	results.addPythonCPU(costs.singles, pairs, "watch 50 changes a second in Python", unit, noTarget)
	return nil
}

// watchInPython adds the costs of a program in a round.
func (l *lab) watchInPython(ctx context.Context, s *service, program string, changes *changer, costs pythonWatch) error {
	inBursts := l.pythonChanges
	if !slices.Contains(programsOf(pythonPairs), program) {
		inBursts = 0
	}
	p, err := l.startPython(s, program, "watch", pythonNamespace{fanOutNamespace, fanOutPods}, inBursts, singleChanges)
	if err != nil {
		return err
	}
	defer p.stop()
	if _, err := p.report(ctx, func(r pythonReport) bool { return r.Synced }); err != nil {
		return err
	}
	if err := changes.bursts(ctx, l.changes, burstInterval, inBursts); err != nil {
		return err
	}
	cost, err := p.changeCost(ctx, inBursts)
	if err != nil {
		return err
	}
	costs.bursts.add(program, cost)
	if err := changes.bursts(ctx, 1, singleInterval, singleChanges); err != nil {
		return err
	}
	cost, err = p.changeCost(ctx, singleChanges)
	costs.singles.add(program, cost)
	return err
}

// changeCost blocks until the program has received a number of changes, and returns the cost of one.
func (p *pythonProcess) changeCost(ctx context.Context, changes int) (pythonCost, error) {
	report, err := p.report(ctx, func(r pythonReport) bool { return !r.Synced && r.Count == changes })
	if err != nil {
		return pythonCost{}, err
	}
	peak, err := peakMB(p.PID())
	return pythonCost{cpu: 1e6 * report.CPU / float64(max(changes, 1)), peak: peak}, err
}
