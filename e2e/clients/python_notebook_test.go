package clients_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonNotebook_ShowsTheCluster executes the notebook of the Python client for the pods of two
// namespaces, and compares what it computes with the pods of the API server.
func TestPythonNotebook_ShowsTheCluster(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	n := newNotebookPods(ctx, t)
	for i := range 36 {
		n.create(i)
	}
	n.run()
	n.restart("pod-3", 5)
	n.restart("pod-4", 2)

	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	_, folder := kit.PythonExample(t, "cluster.ipynb")
	command := kit.PythonProgram(t, "python", "notebook.py")
	caller := startProgram(t, command, filepath.Join(folder, "cluster.ipynb"), service.Address, n.selector())
	var executed notebookResults
	caller.Step(ctx, "executed", &executed)
	caller.Ends(ctx)
	n.wantResults(executed)
}

// notebookResults are what the notebook computes.
type notebookResults struct {
	Placement  map[string]map[string]int
	Nodes      map[string]notebookRequests
	Namespaces map[string]notebookRequests
	Restarts   map[string]notebookRestarts
	Images     map[string]int
	Types      map[string]string
	Tables     int
}

type notebookRequests struct {
	Pods           int
	CPU, Memory    float64
	AllocatableCPU float64 `json:"allocatable_cpu"`
	CPUFraction    float64 `json:"cpu_fraction"`
}

type notebookRestarts struct {
	Node     string
	Restarts int
}

// notebookPods are pods of two namespaces with a label of their own.
type notebookPods struct {
	ctx        context.Context
	t          *testing.T
	namespaces []string
}

func newNotebookPods(ctx context.Context, t *testing.T) *notebookPods {
	t.Helper()
	first, second := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	return &notebookPods{ctx: ctx, t: t, namespaces: []string{first, second}}
}

func (n *notebookPods) selector() string { return "notebook=" + n.namespaces[0] }

// create creates a pod with one to three containers, of which the first requests nothing if it is
// alone. Every sixth pod is not scheduled.
func (n *notebookPods) create(i int) {
	n.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:   fmt.Sprint("pod-", i),
		Labels: kit.Labels{"notebook": n.namespaces[0]},
	}}
	if i%6 == 5 {
		pod.Spec.SchedulerName = "nobody"
	}
	for c := range i%3 + 1 {
		container := corev1.Container{Name: fmt.Sprint("c", c), Image: fmt.Sprintf("example.com/image-%d:1", (i+c)%4)}
		if c > 0 {
			container.Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse([]string{"100m", "0.25", "1"}[i%7%3]),
				corev1.ResourceMemory: resource.MustParse([]string{"64Mi", "100M"}[i%2]),
			}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	if _, err := kit.Cluster(n.t).Client.CoreV1().Pods(n.namespaces[i%2]).Create(n.ctx, pod, metav1.CreateOptions{}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *notebookPods) list() []corev1.Pod {
	n.t.Helper()
	pods, err := kit.Cluster(n.t).Client.CoreV1().Pods("").List(n.ctx, metav1.ListOptions{LabelSelector: n.selector()})
	if err != nil {
		n.t.Fatal(err)
	}
	return pods.Items
}

// run blocks until the pods that are scheduled run.
func (n *notebookPods) run() {
	n.t.Helper()
	kit.Eventually(n.ctx, n.t, "the pods run", func() error {
		for _, pod := range n.list() {
			if pod.Spec.SchedulerName != "nobody" && pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			}
		}
		return nil
	})
}

// restart sets the number of restarts of the first container of a pod.
func (n *notebookPods) restart(name string, times int32) {
	n.t.Helper()
	for _, pod := range n.list() {
		if pod.Name != name {
			continue
		}
		pod.Status.ContainerStatuses[0].RestartCount = times
		if _, err := kit.Cluster(n.t).Client.CoreV1().Pods(pod.Namespace).UpdateStatus(n.ctx, &pod, metav1.UpdateOptions{}); err != nil {
			n.t.Fatal(err)
		}
	}
}

// wantResults fails the test unless the notebook has computed what follows from the pods and nodes
// of the API server.
func (n *notebookPods) wantResults(got notebookResults) {
	n.t.Helper()
	want := notebookResults{
		Placement: make(map[string]map[string]int), Nodes: n.allocatable(), Namespaces: make(map[string]notebookRequests),
		Restarts: make(map[string]notebookRestarts), Images: make(map[string]int),
	}
	for _, pod := range n.list() {
		want.add(&pod)
	}
	keepOwnNodes(want.Nodes)
	keepOwnNodes(got.Nodes)
	for name, node := range want.Nodes {
		node.Pods = 0 // the notebook does not count them
		node.CPUFraction = node.CPU / node.AllocatableCPU
		want.Nodes[name] = node
	}
	n.wantEqual("placement", got.placed(), want.placed())
	n.wantEqual("nodes", rounded(got.Nodes), rounded(want.Nodes))
	n.wantEqual("namespaces", rounded(got.Namespaces), rounded(want.Namespaces))
	n.wantEqual("restarts", got.Restarts, want.Restarts)
	n.wantEqual("images", got.Images, want.Images)
	if len(want.Namespaces) != 2 || len(want.Restarts) != 2 || len(want.Nodes) < 5 {
		n.t.Errorf("the cluster has too little: %+v", want)
	}
	types := []string{got.Types["started"], got.Types["restarts"], got.Types["cpu"]}
	n.wantEqual("types", types, []string{"datetime64[us, UTC]", "Int64", "float64"})
	if got.Tables < 7 {
		n.t.Errorf("%d outputs are tables in HTML, want at least 7", got.Tables)
	}
}

// keepOwnNodes removes the nodes of other tests, which come and go.
func keepOwnNodes(nodes map[string]notebookRequests) {
	maps.DeleteFunc(nodes, func(name string, _ notebookRequests) bool { return !strings.HasPrefix(name, "node-") })
}

func (n *notebookPods) wantEqual(what string, got, want any) {
	n.t.Helper()
	if !reflect.DeepEqual(got, want) {
		n.t.Errorf("%s: the notebook has %v, the cluster %v", what, got, want)
	}
}

// allocatable returns the nodes of the cluster without pods.
func (n *notebookPods) allocatable() map[string]notebookRequests {
	n.t.Helper()
	nodes, err := kit.Cluster(n.t).Client.CoreV1().Nodes().List(n.ctx, metav1.ListOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	allocatable := make(map[string]notebookRequests)
	for _, node := range nodes.Items {
		allocatable[node.Name] = notebookRequests{AllocatableCPU: node.Status.Allocatable.Cpu().AsApproximateFloat64()}
	}
	return allocatable
}

func (r *notebookResults) add(pod *corev1.Pod) {
	node, phase := pod.Spec.NodeName, string(pod.Status.Phase)
	if node != "" {
		r.Nodes[node] = r.Nodes[node].with(pod)
	}
	r.Namespaces[pod.Namespace] = r.Namespaces[pod.Namespace].with(pod)
	for _, container := range pod.Spec.Containers {
		r.Images[container.Image]++
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.RestartCount > 0 {
			r.Restarts[pod.Name] = notebookRestarts{Node: node, Restarts: int(status.RestartCount)}
		}
	}
	placed := cmp.Or(node, "not scheduled")
	if r.Placement[placed] == nil {
		r.Placement[placed] = make(map[string]int)
	}
	r.Placement[placed][phase]++
}

// placed returns the numbers of pods that are not zero.
func (r *notebookResults) placed() map[string]int {
	counts := make(map[string]int)
	for node, phases := range r.Placement {
		for phase, count := range phases {
			if count > 0 {
				counts[node+" "+phase] = count
			}
		}
	}
	return counts
}

// with returns the requests and those of one more pod.
func (r notebookRequests) with(pod *corev1.Pod) notebookRequests {
	r.Pods++
	for _, container := range pod.Spec.Containers {
		r.CPU += container.Resources.Requests.Cpu().AsApproximateFloat64()
		r.Memory += container.Resources.Requests.Memory().AsApproximateFloat64()
	}
	return r
}

// rounded returns the requests in the precision in which sums of floats are equal in any order.
func rounded(requests map[string]notebookRequests) map[string]notebookRequests {
	digits := make(map[string]notebookRequests)
	for name, each := range requests {
		each.CPU = math.Round(each.CPU*1000) / 1000
		each.CPUFraction = math.Round(each.CPUFraction*1e9) / 1e9
		digits[name] = each
	}
	return digits
}
