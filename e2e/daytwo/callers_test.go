package daytwo_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// callers are programs with the Python client and with the TypeScript client. They follow the
// ConfigMaps of a namespace, and contain no code that handles an error.
type callers struct {
	t            *testing.T
	python, node *harness.Process // python is nil if a test has none
	write        kit.ConfigMaps
}

// startCallers starts the programs, and blocks until both have a first object.
func startCallers(ctx context.Context, t *testing.T, service *harness.Service, write kit.ConfigMaps, namespace string) callers {
	t.Helper()
	python := append(kit.PythonProgram(t, "python", "follow.py"), "threads", service.Address, namespace)
	node := append(kit.NodeProgram(t, "node", "live.mjs"), "page", "grpc", service.Address, namespace)
	c := callers{
		t: t, write: write,
		python: kit.StartProcess(t, python[0], python[1:]...),
		node:   kit.StartProcess(t, node[0], node[1:]...),
	}
	c.create(ctx, "followed", "first")
	return c
}

// create creates a ConfigMap, and blocks until both programs have it.
func (c callers) create(ctx context.Context, name, value string) *corev1.ConfigMap {
	c.t.Helper()
	c.write.Create(name, kit.Labels{"rank": value})
	return c.change(ctx, name, value)
}

// change changes a ConfigMap, and blocks until both programs have the change.
func (c callers) change(ctx context.Context, name, value string) *corev1.ConfigMap {
	c.t.Helper()
	changed := c.write.Patch(name, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"rank": value}},
		"data":     map[string]any{"key": value},
	})
	if c.python != nil {
		c.until(ctx, c.python, name+" is "+value+" in Python", func(line callersLine) bool {
			return line.Data[name]["key"] == value && line.Connected && line.Stale != nil && !*line.Stale
		})
	}
	c.until(ctx, c.node, name+" is "+value+" in Node.js", func(line callersLine) bool {
		return slices.Contains(line.Names, name+"="+value)
	})
	return changed
}

func (c callers) until(ctx context.Context, program *harness.Process, description string, holds func(callersLine) bool) {
	c.t.Helper()
	if _, err := program.UntilPrints(ctx, func(line string) bool {
		var printed callersLine
		return json.Unmarshal([]byte(line), &printed) == nil && holds(printed)
	}); err != nil {
		c.t.Fatalf("waiting until %s: %v", description, err)
	}
}

// callersLine is a line that one of the programs prints: the data of all objects in Python, and a
// page of names and labels in Node.js.
type callersLine struct {
	Data      map[string]map[string]string
	Connected bool
	Stale     *bool
	Names     []string
}
