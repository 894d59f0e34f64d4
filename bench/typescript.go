package main

import "context"

// inTypeScript are the programs of bench/node, which use the compiled TypeScript client.
var inTypeScript = language{
	name:    "TypeScript",
	install: "`make build` installs and compiles the clients",
	command: []string{program("NODE", "node")},
	folder:  "bench/node", versions: "versions.mjs",
	pairs: typeScriptPairs, storePairs: typeScriptPairs,
}

// The programs of kubeconnect, and that of the official client.
var (
	typeScriptObjects  = clientProgram{file: "objects.mjs", name: "whole objects"}
	typeScriptFields   = clientProgram{file: "fields.mjs", name: "objects with four fields"}
	typeScriptOfficial = clientProgram{file: "official.mjs", name: "the official client"}
)

var typeScriptPairs = []programPair{
	{
		ours: typeScriptObjects, theirs: typeScriptOfficial,
		listFirst: "3×", watchFirst: "3×", fillFirst: "3×", storedFirst: "3×",
	},
	{
		ours: typeScriptFields, theirs: typeScriptOfficial,
		listFirst: "10×", watchFirst: "10×", fillFirst: "10×", storedFirst: "10×",
	},
}

// compareTypeScript compares what Node.js programs with different clients need for the same task.
func (l *lab) compareTypeScript(ctx context.Context, results *report) error {
	return l.withPrograms(ctx, inTypeScript, results, func(p *programs) error { return p.compareTasks(ctx) })
}
