package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// groupsOf returns the groups of pods by the values of has, one group a line, in the order of a
// response: the largest first.
func groupsOf(pods []corev1.Pod, has func(corev1.Pod) []string) []string {
	counts := map[string]int{}
	for _, pod := range pods {
		for _, value := range slices.Compact(slices.Sorted(slices.Values(has(pod)))) {
			counts[value]++
		}
	}
	var lines []string
	for value, count := range counts {
		lines = append(lines, fmt.Sprintf("%d %s", count, value))
	}
	slices.Sort(lines)
	return lines
}

func linesOf(groups []*kubeconnectv1.ObjectGroup) []string {
	var lines []string
	for _, group := range groups {
		var values []string
		for _, value := range group.GetValues() {
			values = append(values, fmt.Sprint(value.AsInterface()))
		}
		lines = append(lines, fmt.Sprintf("%d %s", group.GetCount(), strings.Join(values, " ")))
	}
	return lines
}

func TestCount_CountsByGroups(t *testing.T) {
	t.Parallel()
	namespace := newPodsToOrder(kit.Deadline(t), t)
	cpu := func(pod corev1.Pod) string {
		if cpu, ok := pod.Labels["cpu"]; ok {
			return cpu
		}
		return "<nil>"
	}
	cases := map[string]func(corev1.Pod) []string{
		"metadata.labels.tier":                       func(pod corev1.Pod) []string { return []string{pod.Labels["tier"]} },
		"metadata.labels['cpu']":                     func(pod corev1.Pod) []string { return []string{cpu(pod)} },
		"status.phase,metadata.labels.tier":          func(pod corev1.Pod) []string { return []string{"Pending " + pod.Labels["tier"]} },
		"spec.containers[*].image":                   func(pod corev1.Pod) []string { return []string{"pause"} },
		"spec.tolerations[*].key,metadata.namespace": func(pod corev1.Pod) []string { return tolerated(pod) },
	}
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		request := func(change func(*kubeconnectv1.CountRequest)) *kubeconnectv1.CountRequest {
			request := &kubeconnectv1.CountRequest{Resource: "pods", Namespace: namespace}
			change(request)
			return request
		}
		kit.Eventually(ctx, t, "the service has cached all pods", func() error {
			count, err := client.Count(ctx, request(func(*kubeconnectv1.CountRequest) {}))
			if err == nil && (count.GetTotalCount() != 21 || len(count.GetGroups()) != 0 || count.GetResource().GetKind() != "Pod" || count.GetResourceVersion() == "" || count.GetSource() != kubeconnectv1.Source_SOURCE_CACHE) {
				err = fmt.Errorf("%v", count)
			}
			return err
		})
		for _, consistency := range []kubeconnectv1.Consistency{0, kubeconnectv1.Consistency_CONSISTENCY_LATEST} {
			for groupBy, has := range cases {
				count, err := client.Count(ctx, request(func(r *kubeconnectv1.CountRequest) {
					r.GroupBy, r.Consistency = strings.Split(groupBy, ","), consistency
				}))
				if err != nil {
					t.Fatal(err)
				}
				got, want := linesOf(count.GetGroups()), groupsOf(podsIn(ctx, t, namespace), has)
				if !slices.IsSortedFunc(count.GetGroups(), func(a, b *kubeconnectv1.ObjectGroup) int { return int(b.GetCount() - a.GetCount()) }) {
					t.Errorf("%s: %v are not in order", groupBy, got)
				}
				if slices.Sort(got); !slices.Equal(got, want) || count.GetTotalCount() != 21 || count.GetRemainingGroupCount() != 0 {
					t.Errorf("%s: got %d in %v, want %v", groupBy, count.GetTotalCount(), got, want)
				}
			}
		}
		some, err := client.Count(ctx, request(func(r *kubeconnectv1.CountRequest) {
			r.LabelSelector, r.GroupBy, r.MaxGroups = "tier in (t0,t1)", []string{"metadata.name"}, 5
		}))
		if err != nil || some.GetTotalCount() != 14 || len(some.GetGroups()) != 5 || some.GetRemainingGroupCount() != 9 || linesOf(some.GetGroups())[2] != "1 web-3" {
			t.Errorf("count of a part: %v, %v", some, err)
		}
		everywhere, err := client.Count(ctx, request(func(r *kubeconnectv1.CountRequest) {
			r.Namespace, r.FieldSelector = "", "metadata.namespace="+namespace
		}))
		if err != nil || everywhere.GetTotalCount() != 21 {
			t.Errorf("count over all namespaces: %v, %v", everywhere, err)
		}
	})
}

// tolerated returns the taints that a pod tolerates, with its namespace.
func tolerated(pod corev1.Pod) []string {
	var keys []string
	for _, toleration := range pod.Spec.Tolerations {
		keys = append(keys, toleration.Key+" "+pod.Namespace)
	}
	if len(keys) == 0 {
		return []string{"<nil> " + pod.Namespace}
	}
	return keys
}

func TestCount_CountsOnlyRelatedObjects(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	f := newRelatedFixture(ctx, t)
	set := f.one(replicaSetsResource, withApp("web"))
	for name, test := range map[string]struct {
		related *kubeconnectv1.Relation
		want    int64
	}{
		"owned":              {&kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: "rs", Namespace: f.namespace, Name: set.GetName()}, 3},
		"owned transitively": {&kubeconnectv1.Relation{Type: kit.RelatedOwnedBy, Resource: "deploy", Namespace: f.namespace, Name: "web", Transitive: true}, 3},
		"selected":           {&kubeconnectv1.Relation{Type: relatedSelectedBy, Resource: "svc", Namespace: f.namespace, Name: "web"}, 4},
	} {
		kit.Eventually(ctx, t, name, func() error {
			count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Related: test.related, GroupBy: []string{"metadata.labels.app"}})
			if err == nil && (count.GetTotalCount() != test.want || len(count.GetGroups()) != 1) {
				err = fmt.Errorf("got %v, want %d", count, test.want)
			}
			return err
		})
	}
}

func TestCount_InvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, test := range map[string]struct {
		request *kubeconnectv1.CountRequest
		words   string
	}{
		"no resource":                 {&kubeconnectv1.CountRequest{}, "resource is required"},
		"an object":                   {&kubeconnectv1.CountRequest{GroupBy: []string{"metadata"}}, `"metadata" is an object`},
		"an invalid path":             {&kubeconnectv1.CountRequest{GroupBy: []string{"a..b"}}, "group_by"},
		"too many paths":              {&kubeconnectv1.CountRequest{GroupBy: strings.Split("a b c d e f g h i", " ")}, "9 paths"},
		"too many groups":             {&kubeconnectv1.CountRequest{MaxGroups: 10_001}, "max_groups 10001"},
		"a negative number of groups": {&kubeconnectv1.CountRequest{MaxGroups: -1}, "max_groups -1"},
		"a bad selector":              {&kubeconnectv1.CountRequest{LabelSelector: "("}, "label_selector"},
		"a bad consistency":           {&kubeconnectv1.CountRequest{Consistency: 9}, "consistency 9"},
		"a bad version":               {&kubeconnectv1.CountRequest{MinResourceVersion: "x"}, "min_resource_version"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no resource" {
				test.request.Resource = "namespaces"
			}
			_, err := client.Count(ctx, test.request)
			kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
		})
	}
}
