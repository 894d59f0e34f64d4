package main

import (
	"fmt"
	"strings"
)

// programCost is what a program has used for a task. Memory is in megabytes.
type programCost struct {
	cpu      float64 // in the unit of the row
	imported float64 // memory after the imports
	peak     float64 // peak memory above imported; 0 if it is not known
}

func cpuOf(c programCost) float64 { return c.cpu }

func peakMemoryOf(c programCost) float64 { return c.peak }

// programCosts are the costs of each program, in each round in which it was not stopped.
type programCosts[T any] map[clientProgram][]T

func (c programCosts[T]) add(program clientProgram, cost T) { c[program] = append(c[program], cost) }

// addCompared adds the row of a pair, in the rounds in which neither program was stopped.
func (c programCosts[T]) addCompared(r *report, pair programPair, what, unit, first string, value func(T) float64) {
	compared := row{
		what: what + ", " + pair.ours.name, against: pair.theirs.name, unit: unit, ratio: less, first: first,
	}
	for i := range min(len(c[pair.ours]), len(c[pair.theirs])) {
		compared.ours = append(compared.ours, value(c[pair.ours][i]))
		compared.theirs = append(compared.theirs, value(c[pair.theirs][i]))
	}
	if len(compared.ours) > 0 {
		r.add(compared)
	}
}

// addProgramCPU adds the rows of the CPU time of a task. The target of each pair is optional.
func (r *report) addProgramCPU(
	costs programCosts[programCost], pairs []programPair, what, unit string, target func(programPair) string,
) {
	for _, pair := range pairs {
		costs.addCompared(r, pair, what+", client CPU", unit, target(pair), cpuOf)
	}
}

func noTarget(programPair) string { return "" }

// addProgramMemory adds the rows of the peak memory of a task, if it is known.
func (r *report) addProgramMemory(costs programCosts[programCost], pairs []programPair, what string) {
	for _, pair := range pairs {
		if knowsPeak {
			costs.addCompared(r, pair, what+", peak memory", "MB", "", peakMemoryOf)
		}
	}
}

// remarkImported adds a remark with the memory of each program after its imports.
func (p *programs) remarkImported(costs programCosts[programCost]) {
	var all []string
	for _, program := range programsOf(p.pairs) {
		if len(costs[program]) > 0 {
			all = append(all, fmt.Sprintf("%s %.0f MB", program.name, costs[program][0].imported))
		}
	}
	p.results.remark("memory of the %s programs after their imports, which the rows do not include: %s",
		p.name, strings.Join(all, ", "))
}
