package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The programs of bench/python, one for each client, and for kubeconnect one for each form of objects.
const (
	pythonObjects  = "objects.py"
	pythonMessages = "messages.py"
	pythonFields   = "fields.py"

	pythonOfficial  = "official.py"
	pythonPlain     = "official_json.py"
	pythonKr8s      = "with_kr8s.py"
	pythonLightkube = "with_lightkube.py"
)

// pythonNames are the descriptions of the programs in the table.
var pythonNames = map[string]string{
	pythonObjects:   "Objects that are read",
	pythonMessages:  "messages",
	pythonFields:    "Objects with four fields",
	pythonOfficial:  "the official client",
	pythonPlain:     "the official client without its models",
	pythonKr8s:      "kr8s",
	pythonLightkube: "lightkube",
}

// pythonPair is a program that uses kubeconnect, and the one that it is compared with.
type pythonPair struct {
	ours, theirs string
	listFirst    string // target of the CPU time of a list
	watchFirst   string // target of the CPU time of a change
}

// pythonPairs are compared on the same pods and changes. Objects are compared with the clients whose
// objects are dicts, and messages with the clients whose objects have types.
var pythonPairs = []pythonPair{
	{ours: pythonObjects, theirs: pythonOfficial, listFirst: "20×", watchFirst: "20×"},
	{ours: pythonMessages, theirs: pythonOfficial, listFirst: "50×", watchFirst: "20×"},
	{ours: pythonFields, theirs: pythonOfficial, listFirst: "50×", watchFirst: "20×"},
	{ours: pythonObjects, theirs: pythonPlain},
	{ours: pythonMessages, theirs: pythonLightkube},
}

// slowPythonPairs are compared on fewer pods and changes, because kr8s needs several milliseconds for
// each.
var slowPythonPairs = []pythonPair{{ours: pythonObjects, theirs: pythonKr8s}}

// programsOf returns the programs of some pairs, each once.
func programsOf(pairs []pythonPair) (programs []string) {
	seen := map[string]bool{}
	for _, pair := range pairs {
		for _, program := range []string{pair.theirs, pair.ours} {
			if !seen[program] {
				programs, seen[program] = append(programs, program), true
			}
		}
	}
	return programs
}

// comparePython compares what Python programs with different clients need for the same task.
func (l *lab) comparePython(ctx context.Context, results *report) (err error) {
	versions, err := runPython(ctx, "versions.py")
	if err != nil {
		return fmt.Errorf("%w; `make bench-python` installs the clients", err)
	}
	results.remark("Python clients: %s", versions)
	pods, err := l.removeManagedFields(ctx, listNamespace, fanOutNamespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pods.restore(ctx)) }()
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, compare := range []func(*lab, context.Context, *service, *report) error{
		(*lab).comparePythonImports, (*lab).comparePythonLists, (*lab).comparePythonWatches, (*lab).comparePythonStores,
	} {
		if err := compare(l, ctx, s, results); err != nil {
			return err
		}
	}
	return nil
}

// eachPython measures each program of some pairs in half of the rounds. A program that takes too long
// is stopped, reported, and not measured again.
func (l *lab) eachPython(results *report, pairs []pythonPair, measure func(program string) error) error {
	stopped := map[string]bool{}
	return l.fewRounds(func(int) error {
		for _, program := range programsOf(pairs) {
			if stopped[program] {
				continue
			}
			err := measure(program)
			if stopped[program] = errors.Is(err, errPythonStopped); stopped[program] {
				results.remark("%s: %v", pythonNames[program], err)
			} else if err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
		}
		return nil
	})
}

// pythonCost is what a program has used for a task. Memory is in megabytes.
type pythonCost struct {
	cpu      float64 // in the unit of the row
	imported float64 // memory after the imports
	peak     float64 // peak memory above imported; 0 if it is not known
}

func cpuOf(c pythonCost) float64 { return c.cpu }

func peakMemoryOf(c pythonCost) float64 { return c.peak }

// pythonCosts are the costs of each program, in each round in which it was not stopped.
type pythonCosts[T any] map[string][]T

func (c pythonCosts[T]) add(program string, cost T) { c[program] = append(c[program], cost) }

// addCompared adds the row of a pair, in the rounds in which neither program was stopped.
func (c pythonCosts[T]) addCompared(r *report, pair pythonPair, what, unit, first string, value func(T) float64) {
	compared := row{
		what: what + ", " + pythonNames[pair.ours], against: pythonNames[pair.theirs], unit: unit, ratio: less, first: first,
	}
	for i := range min(len(c[pair.ours]), len(c[pair.theirs])) {
		compared.ours = append(compared.ours, value(c[pair.ours][i]))
		compared.theirs = append(compared.theirs, value(c[pair.theirs][i]))
	}
	if len(compared.ours) > 0 {
		r.add(compared)
	}
}

// addPythonCPU adds the rows of the CPU time of a task. The target of each pair is optional.
func (r *report) addPythonCPU(
	costs pythonCosts[pythonCost], pairs []pythonPair, what, unit string, target func(pythonPair) string,
) {
	for _, pair := range pairs {
		costs.addCompared(r, pair, what+", client CPU", unit, target(pair), cpuOf)
	}
}

func noTarget(pythonPair) string { return "" }

// addPythonMemory adds the rows of the peak memory of a task, if it is known.
func (r *report) addPythonMemory(costs pythonCosts[pythonCost], pairs []pythonPair, what string) {
	for _, pair := range pairs {
		if knowsPeak {
			costs.addCompared(r, pair, what+", peak memory", "MB", "", peakMemoryOf)
		}
	}
}

// remarkImported adds a remark with the memory of each program after its imports.
func (r *report) remarkImported(costs pythonCosts[pythonCost], pairs []pythonPair) {
	var all []string
	for _, program := range programsOf(pairs) {
		if len(costs[program]) > 0 {
			all = append(all, fmt.Sprintf("%s %.0f MB", pythonNames[program], costs[program][0].imported))
		}
	}
	r.remark("memory of the Python programs after their imports, which the rows do not include: %s", strings.Join(all, ", "))
}
