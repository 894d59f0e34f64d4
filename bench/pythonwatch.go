package main

import (
	"context"
	"fmt"
)

// pythonWatches is a number of programs that watch the same changes at the same time.
type pythonWatches struct {
	pairs   []pythonPair
	changes int // in a round
	rate    int // changes a second, which the slowest program keeps up with
}

// comparePythonWatches compares the cost of a change for programs that watch it.
func (l *lab) comparePythonWatches(ctx context.Context, s *service, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	for _, watches := range []pythonWatches{
		{pythonPairs, l.pythonChanges, 400},
		{slowPythonPairs, l.pythonChanges / 10, 100},
	} {
		costs, err := l.pythonWatch(ctx, s, changes, watches)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("watch %d changes in Python, ", l.rounds*watches.changes)
		results.addPython(costs, watches.pairs, what, "µs a change", func(p pythonPair) string { return p.watchFirst })
	}
	return nil
}

// pythonWatch returns the costs of a change for each program.
func (l *lab) pythonWatch(ctx context.Context, s *service, changes *changer, watches pythonWatches) (pythonCosts, error) {
	programs, err := l.startPythonWatches(ctx, s, watches)
	defer func() {
		for _, p := range programs {
			p.stop()
		}
	}()
	if err != nil {
		return nil, err
	}
	costs := pythonCosts{}
	err = l.eachRound(func(round int) error {
		if err := changes.steady(ctx, watches.rate, watches.changes); err != nil {
			return err
		}
		for _, p := range programs {
			cost, err := p.changeCost(ctx, round, watches.changes)
			if err != nil {
				return err
			}
			costs.add(p.name, cost)
		}
		return nil
	})
	return costs, err
}

// startPythonWatches starts the programs, and blocks until all of them have received the pods. The
// caller must stop the programs, also after an error.
func (l *lab) startPythonWatches(ctx context.Context, s *service, watches pythonWatches) (programs []*pythonProcess, err error) {
	for _, name := range programsOf(watches.pairs) {
		p, err := l.startPython(s, name, "watch", pythonNamespace{fanOutNamespace, fanOutPods}, watches.changes)
		if err != nil {
			return programs, err
		}
		programs = append(programs, p)
	}
	for _, p := range programs {
		if _, err := p.report(ctx, func(r pythonReport) bool { return r.Synced }); err != nil {
			return programs, err
		}
	}
	return programs, nil
}

// changeCost blocks until the program has received all changes of a round, and returns the cost of one.
func (p *pythonProcess) changeCost(ctx context.Context, round, changes int) (pythonCost, error) {
	report, err := p.report(ctx, func(r pythonReport) bool { return !r.Synced && r.Round == round })
	if err != nil {
		return pythonCost{}, err
	}
	peak, err := peakMB(p.PID())
	return pythonCost{cpu: 1e6 * report.CPU / float64(changes), peak: peak}, err
}
