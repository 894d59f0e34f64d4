package main

import (
	"context"
	"fmt"
)

// compareLists compares lists. Each program lists once in a process of its own.
func (p *programs) compareLists(ctx context.Context) error {
	costs, err := p.listAll(ctx, p.pairs, listNamespace)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("list %d pods in %s", p.pods/2, p.name)
	p.results.addProgramCPU(costs, p.pairs, what, "ms", func(pair programPair) string { return pair.listFirst })
	p.results.addProgramMemory(costs, p.pairs, what)
	p.remarkImported(costs)

	if costs, err = p.listAll(ctx, p.slowPairs, fanOutNamespace); err != nil {
		return err
	}
	what = fmt.Sprintf("list %d pods in %s", fanOutPods, p.name)
	p.results.addProgramCPU(costs, p.slowPairs, what, "ms", noTarget)
	return nil
}

// listAll returns the costs of lists of a namespace by all programs of some pairs.
func (p *programs) listAll(ctx context.Context, pairs []programPair, namespace string) (programCosts[programCost], error) {
	costs := programCosts[programCost]{}
	pods := p.podsReadAt(p.placesIn(namespace))
	err := p.each(pairs, func(program clientProgram) error {
		cost, err := p.list(ctx, program, namespace, pods)
		if err == nil {
			costs.add(program, cost)
		}
		return err
	})
	return costs, err
}

// list returns the cost of a list by a program.
func (p *programs) list(
	ctx context.Context, program clientProgram, namespace string, pods podsRead,
) (cost programCost, err error) {
	process, err := p.start(program, "list", namespace, pods.count)
	if err != nil {
		return programCost{}, err
	}
	defer process.stop()
	report, err := process.read(ctx, pods)
	if err != nil {
		return programCost{}, err
	}
	cost.cpu = 1000 * report.CPU
	err = process.measureMemory(ctx, &cost)
	return cost, err
}
