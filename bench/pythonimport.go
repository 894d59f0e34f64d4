package main

import (
	"context"
	"fmt"
	"strings"
)

// pythonImports is the number of imports in a round, each in a new interpreter. Their median counts.
const pythonImports = 10

// pythonLibraries are the modules of grpc and protobuf that kubeconnect needs.
var pythonLibraries = []string{
	"grpc", "google.protobuf.descriptor_pool", "google.protobuf.struct_pb2", "google.protobuf.timestamp_pb2",
}

// comparePythonImports compares the time of an import, which is not CPU time.
func (p *programs) comparePythonImports(ctx context.Context) error {
	imports := row{what: "import kubeconnect in Python", against: "import kubernetes", unit: "ms", ratio: less, first: "≤ 150 ms"}
	var libraries []float64
	err := p.fewRounds(func(int) error {
		parts, err := importTimes(ctx, "kubeconnect", pythonLibraries...)
		if err != nil {
			return err
		}
		theirs, err := importTimes(ctx, "kubernetes")
		if err != nil {
			return err
		}
		imports.ours, imports.theirs = append(imports.ours, parts.all), append(imports.theirs, theirs.all)
		libraries = append(libraries, parts.libraries)
		return nil
	})
	if err != nil {
		return err
	}
	p.results.add(imports)
	p.results.remark("of the import of kubeconnect, %s ms are those of grpc and protobuf", figure(median(libraries)))
	return nil
}

// importTime is the time of an import in milliseconds, and the part of it for libraries.
type importTime struct {
	all, libraries float64
}

// importTimes returns the medians of several imports of a module. Each interpreter first imports the
// libraries that the module needs.
func importTimes(ctx context.Context, module string, libraries ...string) (importTime, error) {
	var all, parts []float64
	for range pythonImports {
		printed, err := inPython.run(ctx, "imports.py", append(libraries[:len(libraries):len(libraries)], module)...)
		if err != nil {
			return importTime{}, err
		}
		total, part := 0.0, 0.0
		for i, line := range strings.Fields(printed) {
			var took float64
			if _, err := fmt.Sscan(line, &took); err != nil {
				return importTime{}, err
			}
			total += took
			if i < len(libraries) {
				part += took
			}
		}
		all, parts = append(all, total), append(parts, part)
	}
	return importTime{all: median(all), libraries: median(parts)}, nil
}
