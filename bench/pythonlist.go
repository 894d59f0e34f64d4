package main

import (
	"context"
	"fmt"
)

// comparePythonLists compares lists. Each program lists once in a process of its own.
func (l *lab) comparePythonLists(ctx context.Context, s *service, results *report) error {
	costs, err := l.pythonLists(ctx, s, results, pythonPairs, listNamespace)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("list %d pods in Python", l.pods/2)
	results.addPythonCPU(costs, pythonPairs, what, "ms", func(p pythonPair) string { return p.listFirst })
	results.addPythonMemory(costs, pythonPairs, what)
	results.remarkImported(costs, pythonPairs)

	if costs, err = l.pythonLists(ctx, s, results, slowPythonPairs, fanOutNamespace); err != nil {
		return err
	}
	results.addPythonCPU(costs, slowPythonPairs, fmt.Sprintf("list %d pods in Python", fanOutPods), "ms", noTarget)
	return nil
}

// pythonLists returns the costs of lists of a namespace by all programs of some pairs.
func (l *lab) pythonLists(
	ctx context.Context, s *service, results *report, pairs []pythonPair, namespace string,
) (pythonCosts[pythonCost], error) {
	costs := pythonCosts[pythonCost]{}
	pods := l.podsReadAt(l.placesIn(namespace))
	err := l.eachPython(results, pairs, func(program string) error {
		cost, err := l.pythonList(ctx, s, program, namespace, pods)
		if err == nil {
			costs.add(program, cost)
		}
		return err
	})
	return costs, err
}

// pythonList returns the cost of a list by a program.
func (l *lab) pythonList(
	ctx context.Context, s *service, program, namespace string, pods podsRead,
) (cost pythonCost, err error) {
	p, err := l.startPython(s, program, "list", namespace, pods.count)
	if err != nil {
		return pythonCost{}, err
	}
	defer p.stop()
	report, err := p.read(ctx, pods)
	if err != nil {
		return pythonCost{}, err
	}
	cost.cpu = 1000 * report.CPU
	err = p.measureMemory(ctx, &cost)
	return cost, err
}
