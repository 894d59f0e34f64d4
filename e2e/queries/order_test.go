package queries_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// newPodsToOrder creates pods without nodes in a namespace, with requests in several units, some
// with a priority and some with labels.
func newPodsToOrder(ctx context.Context, t *testing.T) string {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	cpus := []string{"500m", "2", "", "1500m", "100m", "10", "0.5"}
	for i := range 21 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: kit.Labels{"tier": fmt.Sprint("t", i%3)}},
			Spec:       pausing(),
		}
		pod.Spec.NodeSelector = kit.Labels{"no": "node"}
		pod.Spec.HostNetwork = i%5 == 0
		if cpu := cpus[i%len(cpus)]; cpu != "" {
			pod.Labels["cpu"] = cpu
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		}
		if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return namespace
}

// podsIn returns a namespace's pods as the API server lists them.
func podsIn(ctx context.Context, t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// byCPU compares the CPU requests of pods; pods without one are first.
func byCPU(a, b corev1.Pod) int {
	left, right := a.Labels["cpu"], b.Labels["cpu"]
	if left == "" || right == "" {
		return cmp.Compare(len(left), 0) - cmp.Compare(len(right), 0)
	}
	cpu := resource.MustParse(left)
	return cpu.Cmp(resource.MustParse(right))
}

func byNumber(a, b corev1.Pod) int {
	number := func(pod corev1.Pod) (n int) {
		_, _ = fmt.Sscanf(pod.Name, "web-%d", &n)
		return n
	}
	return cmp.Compare(number(a), number(b))
}

func TestOrderBy_SortsLists(t *testing.T) {
	t.Parallel()
	namespace := newPodsToOrder(kit.Deadline(t), t)
	byTier := func(a, b corev1.Pod) int { return cmp.Compare(a.Labels["tier"], b.Labels["tier"]) }
	byHost := func(a, b corev1.Pod) int {
		return cmp.Compare(fmt.Sprint(a.Spec.HostNetwork), fmt.Sprint(b.Spec.HostNetwork))
	}
	then := func(first, second func(a, b corev1.Pod) int) func(a, b corev1.Pod) int {
		return func(a, b corev1.Pod) int { return cmp.Or(first(a, b), second(a, b)) }
	}
	reversed := func(compare func(a, b corev1.Pod) int) func(a, b corev1.Pod) int {
		return func(a, b corev1.Pod) int { return compare(b, a) }
	}
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		kit.Eventually(ctx, t, "the service has cached all pods", func() error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace})
			if err == nil && len(list.GetObjects()) != 21 {
				err = fmt.Errorf("%d pods", len(list.GetObjects()))
			}
			return err
		})
		for text, compare := range map[string]func(a, b corev1.Pod) int{
			"metadata.name":                                   byNumber,
			"{.metadata.name} desc":                           reversed(byNumber),
			"metadata.labels['cpu'], metadata.name":           then(byCPU, byNumber),
			"metadata.labels.tier desc,metadata.labels.cpu":   then(reversed(byTier), byCPU),
			"spec.hostNetwork desc,metadata.name asc":         then(reversed(byHost), byNumber),
			"spec.nosuch":                                     func(corev1.Pod, corev1.Pod) int { return 0 },
			"metadata.creationTimestamp,metadata.name":        then(func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }, byNumber),
			"$.metadata.labels[\"tier\"] DESC, metadata.name": then(reversed(byTier), byNumber),
		} {
			for _, size := range []int32{0, 4} {
				t.Run(fmt.Sprint(text, " by ", size), func(t *testing.T) {
					wantOrder(ctx, t, client, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, OrderBy: text, PageSize: size}, compare)
				})
			}
		}
	})
}

func wantOrder(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.ListRequest, compare func(a, b corev1.Pod) int) {
	t.Helper()
	pods := podsIn(ctx, t, request.GetNamespace())
	slices.SortStableFunc(pods, compare)
	var got, want []string
	for _, object := range kit.ListAll(ctx, t, client, request) {
		got = append(got, object.GetName())
	}
	for _, pod := range pods {
		want = append(want, pod.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestOrderBy_InvalidOrdersAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for text, words := range map[string]string{
		"metadata":                    `"metadata" is an object or a list`,
		"metadata.name,metadata":      `"metadata" is an object or a list`,
		"metadata.labels[*]":          "several values",
		"metadata.name,":              "names no field",
		"metadata..name":              `".."`,
		"spec.containers[0].image":    "single elements",
		strings.Repeat("a,", 8) + "a": "9 paths",
		strings.Repeat("a", 20<<10):   "bytes",
		"metadata.name descending":    "order_by",
		"metadata.labels['unfinished": "quote",
	} {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", OrderBy: text})
		kit.WantError(t, err, connect.CodeInvalidArgument, words)
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", OrderBy: "metadata.name", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", OrderBy: "metadata.name desc", PageSize: 1, PageToken: list.GetNextPageToken()})
	kit.WantError(t, err, connect.CodeInvalidArgument, "another query")
}
