package traces_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// The clients of this repository continue the traces of their programs, without a setting.
func TestTraces_ContinueThoseOfPrograms(t *testing.T) {
	ctx := kit.Deadline(t)
	tr := startTraced(ctx, t)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "traced"}}
	if _, err := tr.cluster.Client.CoreV1().ConfigMaps(tr.namespace).Create(ctx, config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	python, node := kit.PythonProgram(t, "python", "traced.py"), kit.NodeProgram(t, "node", "traced.mjs")
	for name, program := range map[string][]string{
		"Python with threads":           slices.Concat(python, []string{"threads"}),
		"Python with asyncio":           slices.Concat(python, []string{"asyncio"}),
		"Node.js over gRPC":             slices.Concat(node, []string{"grpc"}),
		"Node.js over Connect":          slices.Concat(node, []string{"connect"}),
		"the client for pages, Node.js": slices.Concat(node, []string{"web"}),
	} {
		t.Run(name, func(t *testing.T) { tr.continues(ctx, t, program) })
	}
}

// continues runs a program in a new trace, and blocks until the spans of its calls are exported.
func (tr traced) continues(ctx context.Context, t *testing.T, program []string) {
	sent := newContext()
	arguments := []string{tr.service.Address, tr.token, tr.namespace, sent.headers(tr.token).Get("Traceparent")}
	process := kit.StartProcess(t, program[0], slices.Concat(program[1:], arguments)...)
	if err := process.Wait(ctx); err != nil {
		t.Fatalf("%v; output:\n%s", err, process.Output())
	}
	tr.collector.belowCall(ctx, t, sent, "Get")
	tr.collector.belowCall(ctx, t, sent, "Watch")
}
