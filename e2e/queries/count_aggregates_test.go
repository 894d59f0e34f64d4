package queries_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

const (
	sumOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM
	averageOf = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_AVERAGE
	minOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MIN
	maxOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX
)

func aggregateOf(function kubeconnectv1.AggregateFunction, path string) *kubeconnectv1.Aggregate {
	return &kubeconnectv1.Aggregate{Function: function, Path: path}
}

// runningPod returns a pod on a node, whose containers request CPU.
func runningPod(name, node, app string, cpus ...string) *corev1.Pod {
	pod := kit.QuietPod(name, kit.Labels{"app": app})
	pod.Spec.NodeName, pod.Spec.Containers = node, nil
	for i, cpu := range cpus {
		container := corev1.Container{Name: fmt.Sprint("c-", i), Image: "example.com/image"}
		if cpu != "" {
			container.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// newRunningPods creates pods on two nodes in a namespace, which run and have restarted, and two pods
// that wait for a node.
func newRunningPods(t *testing.T) (namespace, nodeA, nodeB string) {
	t.Helper()
	ctx := kit.Deadline(t)
	nodeA, nodeB = kubelet.Start(t, kit.Cluster(t).Client).Node, kubelet.Start(t, kit.Cluster(t).Client).Node
	namespace = kit.NewNamespace(ctx, t, kit.Cluster(t))
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	running := []*corev1.Pod{
		runningPod("a-0", nodeA, "web", "500m", "1"),
		runningPod("a-1", nodeA, "web", "250m", ""),
		runningPod("a-2", nodeA, "db", "0.1", "0.2"),
		runningPod("b-0", nodeB, "db", "2"),
		runningPod("b-1", nodeB, "web", ""),
	}
	for _, pod := range append([]*corev1.Pod{kit.QuietPod("p-0", nil), kit.QuietPod("p-1", nil)}, running...) {
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, pod := range running {
		kit.Eventually(ctx, t, "the pod runs", func() error {
			found, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			if err == nil && found.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("%s is %s", found.Name, found.Status.Phase)
			}
			return err
		})
		setRestarts(ctx, t, pod, namespace, 10*i)
	}
	return namespace, nodeA, nodeB
}

// setRestarts sets the number of restarts of a pod's first container, and one more for each further
// container.
func setRestarts(ctx context.Context, t *testing.T, pod *corev1.Pod, namespace string, restarts int) {
	t.Helper()
	var statuses []corev1.ContainerStatus
	for i, container := range pod.Spec.Containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: container.Name, RestartCount: int32(restarts + i)})
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"containerStatuses": statuses}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// aggregateLines returns groups with their aggregates, one in each line, in order.
func aggregateLines(groups []*kubeconnectv1.ObjectGroup) (lines []string) {
	for _, group := range groups {
		var values []string
		for _, value := range group.GetValues() {
			values = append(values, fmt.Sprint(value.AsInterface()))
		}
		lines = append(lines, fmt.Sprintf("%s: %d %s", strings.Join(values, " "), group.GetCount(), aggregatesText(group.GetAggregates())))
	}
	slices.Sort(lines)
	return lines
}

func aggregatesText(results []*kubeconnectv1.AggregateResult) string {
	var texts []string
	for _, result := range results {
		text := fmt.Sprint(result.GetValue().AsInterface())
		if result.GetExact() != "" {
			text = result.GetExact()
		}
		texts = append(texts, fmt.Sprintf("%s of %d", text, result.GetValueCount()))
	}
	return strings.Join(texts, ", ")
}

func TestCount_AggregatesAreThoseOfTheClustersPods(t *testing.T) {
	t.Parallel()
	namespace, nodeA, nodeB := newRunningPods(t)
	byNode := []string{nodeA + " " + namespace + ": 3 2.05 of 5, 0.41 of 5, 0.1 of 5, 1 of 5", nodeB + " " + namespace + ": 2 2 of 1, 2 of 1, 2 of 1, 2 of 1", "<nil> " + namespace + ": 2 <nil> of 0, <nil> of 0, <nil> of 0, <nil> of 0"}
	slices.Sort(byNode)
	oldest := func(phase corev1.PodPhase) string {
		var first string
		for _, pod := range podsIn(kit.Deadline(t), t, namespace) {
			created := pod.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z")
			if pod.Status.Phase == phase && (first == "" || created < first) {
				first = created
			}
		}
		return first
	}
	const cpu, restarts = "spec.containers[*].resources.requests.cpu", "status.containerStatuses[*].restartCount"
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		for name, test := range map[string]struct {
			groupBy    []string
			aggregates []*kubeconnectv1.Aggregate
			want       []string
			total      string
		}{
			"CPU by node and namespace": {
				groupBy:    []string{"spec.nodeName", "metadata.namespace"},
				aggregates: []*kubeconnectv1.Aggregate{aggregateOf(sumOf, cpu), aggregateOf(averageOf, cpu), aggregateOf(minOf, cpu), aggregateOf(maxOf, cpu)},
				want:       byNode,
				total:      "4.05 of 6, 0.675 of 6, 0.1 of 6, 2 of 6",
			},
			"restarts by app": {
				groupBy:    []string{"metadata.labels.app"},
				aggregates: []*kubeconnectv1.Aggregate{aggregateOf(sumOf, restarts), aggregateOf(maxOf, restarts)},
				want:       []string{"<nil>: 2 <nil> of 0, <nil> of 0", "db: 2 71 of 3, 30 of 3", "web: 3 62 of 5, 40 of 5"},
				total:      "133 of 8, 40 of 8",
			},
			"the oldest pod by phase": {
				groupBy:    []string{"status.phase"},
				aggregates: []*kubeconnectv1.Aggregate{aggregateOf(minOf, "metadata.creationTimestamp")},
				want:       []string{"Pending: 2 " + oldest(corev1.PodPending) + " of 2", "Running: 5 " + oldest(corev1.PodRunning) + " of 5"},
				total:      min(oldest(corev1.PodPending), oldest(corev1.PodRunning)) + " of 7",
			},
			"in total": {
				aggregates: []*kubeconnectv1.Aggregate{aggregateOf(sumOf, cpu)},
				total:      "4.05 of 6",
			},
		} {
			for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
				ctx := kit.Deadline(t)
				kit.Eventually(ctx, t, name, func() error {
					count, err := client.Count(ctx, &kubeconnectv1.CountRequest{
						Resource: "pods", Namespace: namespace, GroupBy: test.groupBy, Aggregates: test.aggregates, Consistency: consistency,
					})
					if err != nil {
						return err
					}
					if got := aggregateLines(count.GetGroups()); !slices.Equal(got, test.want) || aggregatesText(count.GetAggregates()) != test.total {
						return fmt.Errorf("got %q, in total %s; want %q, in total %s", got, aggregatesText(count.GetAggregates()), test.want, test.total)
					}
					return nil
				})
			}
		}
	})
}

func TestCount_InvalidAggregatesAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, test := range map[string]struct {
		aggregates []*kubeconnectv1.Aggregate
		words      string
	}{
		"no function":    {[]*kubeconnectv1.Aggregate{aggregateOf(0, "metadata.name")}, "a function is required"},
		"no path":        {[]*kubeconnectv1.Aggregate{aggregateOf(sumOf, "")}, "a path is required"},
		"an object":      {[]*kubeconnectv1.Aggregate{aggregateOf(sumOf, "metadata")}, `aggregates: "metadata" is an object`},
		"one twice":      {slices.Repeat([]*kubeconnectv1.Aggregate{aggregateOf(sumOf, "metadata.name")}, 2), "given twice"},
		"too many":       {slices.Repeat([]*kubeconnectv1.Aggregate{aggregateOf(sumOf, "metadata.name")}, 9), "9 aggregates"},
		"a bad path":     {[]*kubeconnectv1.Aggregate{aggregateOf(sumOf, "a..b")}, "aggregates"},
		"a bad function": {[]*kubeconnectv1.Aggregate{aggregateOf(77, "metadata.name")}, "function 77"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "namespaces", Aggregates: test.aggregates})
			kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
		})
	}
}
