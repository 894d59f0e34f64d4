package main

import (
	"context"
	"fmt"
	"strings"
)

// pythonImports is the number of imports in a round, each in a new interpreter. Their median counts.
const pythonImports = 10

// comparePythonImports compares the time of an import, which is not CPU time.
func (l *lab) comparePythonImports(ctx context.Context, _ *service, results *report) error {
	imports := row{what: "import kubeconnect in Python", against: "import kubernetes", unit: "ms", ratio: less, first: "≤ 150 ms"}
	var libraries []float64
	err := l.fewRounds(func(int) error {
		ours, err := importTimes(ctx, "kubeconnect")
		if err != nil {
			return err
		}
		theirs, err := importTimes(ctx, "kubernetes")
		if err != nil {
			return err
		}
		shares, err := importTimes(ctx, pythonLibraries...)
		if err != nil {
			return err
		}
		imports.ours, imports.theirs = append(imports.ours, ours[0]), append(imports.theirs, theirs[0])
		libraries = append(libraries, sumOf(shares))
		return nil
	})
	if err != nil {
		return err
	}
	results.add(imports)
	results.remark("the import of %s alone takes %s ms, which is a part of that of kubeconnect",
		strings.Join(pythonLibraries, ", "), figure(median(libraries)))
	return nil
}

// pythonLibraries are the modules of grpc and protobuf that kubeconnect needs.
var pythonLibraries = []string{
	"grpc", "google.protobuf.descriptor_pool", "google.protobuf.struct_pb2", "google.protobuf.timestamp_pb2",
}

// importTimes returns the medians of the times of several imports of some modules, in milliseconds. An
// interpreter imports all modules, one after the other.
func importTimes(ctx context.Context, modules ...string) ([]float64, error) {
	times := make([][]float64, len(modules))
	for range pythonImports {
		printed, err := runPython(ctx, "imports.py", modules...)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Fields(printed) {
			var took float64
			if _, err := fmt.Sscan(line, &took); err != nil {
				return nil, err
			}
			times[i] = append(times[i], took)
		}
	}
	medians := make([]float64, len(modules))
	for i := range modules {
		medians[i] = median(times[i])
	}
	return medians, nil
}

func sumOf(values []float64) (sum float64) {
	for _, value := range values {
		sum += value
	}
	return sum
}
