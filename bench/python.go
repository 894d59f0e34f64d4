package main

import "context"

// inPython are the programs of bench/python. PYTHONDONTWRITEBYTECODE is empty, so that Python stores
// compiled modules, as it does by default.
var inPython = language{
	name:    "Python",
	install: "`make bench-python` installs the clients",
	command: []string{"env", "PYTHONDONTWRITEBYTECODE=", program("BENCH_PYTHON", ".cache/bench-python/bin/python")},
	folder:  "bench/python", versions: "versions.py",
	pairs: pythonPairs, slowPairs: slowPythonPairs, storePairs: pythonStorePairs,
}

// One program for each client, and for kubeconnect one for each form of objects.
var (
	pythonObjects  = clientProgram{file: "objects.py", name: "Objects that are read"}
	pythonMessages = clientProgram{file: "messages.py", name: "messages"}
	pythonFields   = clientProgram{file: "fields.py", name: "Objects with four fields"}

	pythonOfficial  = clientProgram{file: "official.py", name: "the official client"}
	pythonPlain     = clientProgram{file: "official_json.py", name: "the official client without its models"}
	pythonKr8s      = clientProgram{file: "with_kr8s.py", name: "kr8s"}
	pythonLightkube = clientProgram{file: "with_lightkube.py", name: "lightkube"}
)

// pythonPairs are compared on the same pods and changes. Objects are compared with the clients whose
// objects are dicts, and messages with the clients whose objects have types.
var pythonPairs = []programPair{
	{ours: pythonObjects, theirs: pythonOfficial, listFirst: "20×", watchFirst: "20×"},
	{ours: pythonMessages, theirs: pythonOfficial, listFirst: "50×", watchFirst: "20×"},
	{ours: pythonFields, theirs: pythonOfficial, listFirst: "50×", watchFirst: "20×"},
	{ours: pythonObjects, theirs: pythonPlain},
	{ours: pythonMessages, theirs: pythonLightkube},
}

// slowPythonPairs are compared on fewer pods and changes, because kr8s needs several milliseconds for
// each.
var slowPythonPairs = []programPair{{ours: pythonObjects, theirs: pythonKr8s}}

// pythonStorePairs are compared with the informer of the official client.
var pythonStorePairs = []programPair{
	{ours: pythonObjects, theirs: pythonOfficial, memoryFirst: "10×"},
	{ours: pythonMessages, theirs: pythonOfficial, memoryFirst: "10×"},
	{ours: pythonFields, theirs: pythonOfficial, memoryFirst: "10×"},
}

// comparePython compares what Python programs with different clients need for the same task.
func (l *lab) comparePython(ctx context.Context, results *report) error {
	return l.withPrograms(ctx, inPython, results, func(p *programs) error {
		if err := p.comparePythonImports(ctx); err != nil {
			return err
		}
		return p.compareTasks(ctx)
	})
}
