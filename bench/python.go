package main

import (
	"context"
	"fmt"
)

// The programs of bench/python, one for each client, and for kubeconnect one for each form of objects.
const (
	pythonObjects  = "objects.py"
	pythonMessages = "messages.py"
	pythonFields   = "fields.py"

	pythonOfficial  = "official.py"
	pythonKr8s      = "with_kr8s.py"
	pythonLightkube = "with_lightkube.py"
)

// pythonNames are the descriptions of the programs in the table.
var pythonNames = map[string]string{
	pythonObjects:   "Objects that are read",
	pythonMessages:  "messages",
	pythonFields:    "Objects with four fields",
	pythonOfficial:  "the official client",
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
func (l *lab) comparePython(ctx context.Context, results *report) error {
	versions, err := runPython(ctx, "versions.py")
	if err != nil {
		return fmt.Errorf("%w; `make bench-python` installs the clients", err)
	}
	results.remark("Python clients: %s", versions)
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

// pythonImports is the number of imports in a round, of which the fastest counts.
const pythonImports = 5

func (l *lab) comparePythonImports(ctx context.Context, _ *service, results *report) error {
	imports := row{what: "import kubeconnect in Python", against: "import kubernetes", unit: "ms", ratio: less, first: "≤ 150 ms"}
	err := l.fewRounds(func(int) error {
		ours, err := importTime(ctx, "kubeconnect")
		if err != nil {
			return err
		}
		theirs, err := importTime(ctx, "kubernetes")
		imports.ours, imports.theirs = append(imports.ours, ours), append(imports.theirs, theirs)
		return err
	})
	results.add(imports)
	return err
}

// importTime returns the shortest time of several imports of a module, in milliseconds.
func importTime(ctx context.Context, module string) (shortest float64, err error) {
	for i := range pythonImports {
		printed, err := runPython(ctx, "imports.py", module)
		if err != nil {
			return 0, err
		}
		var seconds float64
		if _, err := fmt.Sscan(printed, &seconds); err != nil {
			return 0, err
		}
		if took := 1000 * seconds; i == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest, nil
}

// pythonCost is what a program has used for a task.
type pythonCost struct {
	cpu  float64 // in the unit of the row
	peak float64 // peak memory in megabytes; 0 if it is not known
}

// pythonCosts are the costs of each program, in each round.
type pythonCosts map[string][]pythonCost

func (c pythonCosts) add(program string, cost pythonCost) { c[program] = append(c[program], cost) }

// compared returns the row of a pair.
func (c pythonCosts) compared(pair pythonPair, what, unit string, value func(pythonCost) float64) row {
	compared := row{
		what: what + ", " + pythonNames[pair.ours], against: pythonNames[pair.theirs], unit: unit, ratio: less,
	}
	for i, cost := range c[pair.ours] {
		compared.ours = append(compared.ours, value(cost))
		compared.theirs = append(compared.theirs, value(c[pair.theirs][i]))
	}
	return compared
}

func cpuOf(c pythonCost) float64 { return c.cpu }

func peakMemoryOf(c pythonCost) float64 { return c.peak }

// comparePythonLists compares lists. Each program lists once in a process of its own.
func (l *lab) comparePythonLists(ctx context.Context, s *service, results *report) error {
	many := pythonNamespace{listNamespace, l.pods / 2}
	costs, err := l.pythonLists(ctx, s, pythonPairs, many)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("list %d pods in Python", many.pods)
	results.addPythonCPU(costs, pythonPairs, what, "ms", func(p pythonPair) string { return p.listFirst })
	results.addPythonMemory(costs, pythonPairs, what)

	few := pythonNamespace{fanOutNamespace, fanOutPods}
	if costs, err = l.pythonLists(ctx, s, slowPythonPairs, few); err != nil {
		return err
	}
	results.addPythonCPU(costs, slowPythonPairs, fmt.Sprintf("list %d pods in Python", few.pods), "ms", noTarget)
	return nil
}

func noTarget(pythonPair) string { return "" }

// pythonLists returns the costs of lists by all programs of some pairs.
func (l *lab) pythonLists(ctx context.Context, s *service, pairs []pythonPair, in pythonNamespace) (pythonCosts, error) {
	costs := pythonCosts{}
	err := l.fewRounds(func(int) error {
		for _, program := range programsOf(pairs) {
			cost, err := l.pythonList(ctx, s, program, in)
			if err != nil {
				return err
			}
			costs.add(program, cost)
		}
		return nil
	})
	return costs, err
}

// addPythonCPU adds the rows of the CPU time of a task. The target of each pair is optional.
func (r *report) addPythonCPU(costs pythonCosts, pairs []pythonPair, what, unit string, target func(pythonPair) string) {
	for _, pair := range pairs {
		cpu := costs.compared(pair, what+", client CPU", unit, cpuOf)
		cpu.first = target(pair)
		r.add(cpu)
	}
}

// addPythonMemory adds the rows of the peak memory of a task, if it is known.
func (r *report) addPythonMemory(costs pythonCosts, pairs []pythonPair, what string) {
	for _, pair := range pairs {
		if knowsPeak {
			r.add(costs.compared(pair, what+", peak memory", "MB", peakMemoryOf))
		}
	}
}

// pythonList returns the cost of a list by a program.
func (l *lab) pythonList(ctx context.Context, s *service, program string, in pythonNamespace) (pythonCost, error) {
	p, err := l.startPython(s, program, "list", in)
	if err != nil {
		return pythonCost{}, err
	}
	defer p.stop()
	report, err := p.report(ctx, func(pythonReport) bool { return true })
	if err == nil && report.Count != in.pods {
		err = fmt.Errorf("%s has listed %d pods, want %d", program, report.Count, in.pods)
	}
	if err != nil {
		return pythonCost{}, err
	}
	peak, err := peakMB(p.PID())
	return pythonCost{cpu: 1000 * report.CPU, peak: peak}, err
}
