package queries_test

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func groupLines(count *kubeconnectv1.CountResponse) (lines []string) {
	for _, group := range count.GetGroups() {
		line := fmt.Sprint(group.GetCount(), ":")
		for _, value := range group.GetValues() {
			line += fmt.Sprintf(" %#v", value.AsInterface())
		}
		lines = append(lines, line)
	}
	return lines
}

// "the largest groups first, and those of one size in order of their values"; "An object without a
// value is counted with null"; texts, numbers and booleans are different values.
func TestChecked_GroupsOfUnusualValuesAreOrdered(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	gadgets := kit.NewCustomResource(ctx, t, in, namespace)
	gadgets.Define("v1")
	missing := struct{}{}
	last := ""
	for i, value := range []any{missing, "1", int64(1), true, "true", "", "a", "a", "web-10", "web-2", 1.5, "500m", false, int64(-3)} {
		spec := map[string]any{"color": "red"}
		if value != missing {
			spec["key"] = value
		}
		last = kit.CreateGadget(t, gadgets, namespace, fmt.Sprintf("g-%02d", i), spec, "").GetResourceVersion()
	}
	request := &kubeconnectv1.CountRequest{Resource: gadgets.Name(), Namespace: namespace, GroupBy: []string{"spec.key"}, MinResourceVersion: last}
	client := kit.NewReplicas(t, in, 1)[0]
	whole, err := client.Count(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	lines := groupLines(whole)
	t.Logf("the groups are %q", lines)
	want := map[string]bool{`2: "a"`: true, `1: <nil>`: true, `1: "1"`: true, `1: 1`: true, `1: true`: true, `1: "true"`: true, `1: ""`: true,
		`1: "web-10"`: true, `1: "web-2"`: true, `1: 1.5`: true, `1: "500m"`: true, `1: false`: true, `1: -3`: true}
	if whole.GetTotalCount() != 14 || len(lines) != len(want) || lines[0] != `2: "a"` {
		t.Errorf("%d in all, in %q", whole.GetTotalCount(), lines)
	}
	for _, line := range lines {
		if !want[line] {
			t.Errorf("there is a group %q", line)
		}
	}
	// One order of values, that of order_by: what is not there, booleans, numbers and quantities, texts.
	place := func(line string) int { return slices.Index(lines, line) }
	for _, pair := range [][2]string{{`1: <nil>`, `1: false`}, {`1: false`, `1: true`}, {`1: true`, `1: -3`}, {`1: -3`, `1: "500m"`}, {`1: "500m"`, `1: 1`}, {`1: 1`, `1: 1.5`}, {`1: 1.5`, `1: "web-2"`}, {`1: "web-2"`, `1: "web-10"`}} {
		if place(pair[0]) > place(pair[1]) {
			t.Errorf("%s stands behind %s", pair[0], pair[1])
		}
	}
	for _, most := range []int32{1, 5, 13, 14} {
		request.MaxGroups = most
		some, err := client.Count(ctx, request)
		count := min(int(most), len(lines))
		if err != nil || !slices.Equal(groupLines(some), lines[:count]) || some.GetRemainingGroupCount() != int64(len(lines)-count) || some.GetTotalCount() != 14 {
			t.Errorf("at most %d: %q and %d more of %d, %v", most, groupLines(some), some.GetRemainingGroupCount(), some.GetTotalCount(), err)
		}
	}
	request.MaxGroups = -1
	_, err = client.Count(ctx, request)
	kit.WantError(t, err, connect.CodeInvalidArgument)
	request.MaxGroups = 10_001
	answer, err := client.Count(ctx, request)
	t.Logf("10001 groups: %d, %v", len(answer.GetGroups()), err)
	request.MaxGroups, request.GroupBy = 0, []string{"spec"}
	_, err = client.Count(ctx, request)
	kit.WantError(t, err, connect.CodeInvalidArgument)
	request.GroupBy = slices.Repeat([]string{"spec.color"}, 9)
	_, err = client.Count(ctx, request)
	kit.WantError(t, err, connect.CodeInvalidArgument)
	request.GroupBy = slices.Repeat([]string{"spec.color"}, 8)
	eight, err := client.Count(ctx, request)
	if err != nil || len(eight.GetGroups()) != 1 || len(eight.GetGroups()[0].GetValues()) != 8 || eight.GetGroups()[0].GetCount() != 14 {
		t.Errorf("eight paths: %v, %v", eight, err)
	}
	request.GroupBy, request.MinResourceVersion = nil, "9223372036854775"
	_, err = client.Count(ctx, request)
	kit.WantError(t, err, connect.CodeDeadlineExceeded)
	if kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
		t.Errorf("a version from the future: no time to try again in %v", kit.StatusIn(err))
	}
}

// "one for which a path has several values ("spec.containers[*].image") is counted once with each of
// them"
func TestChecked_ObjectsCountOnceInEachGroupOfTheirValues(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	last := ""
	for name, images := range map[string][]string{"one": {"a"}, "two": {"a", "b"}, "same": {"b", "b", "b"}} {
		pod := kit.QuietPod(name, nil)
		pod.Spec.Containers = nil
		for i, image := range images {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint("c-", i), Image: image})
		}
		made, err := in.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if last == "" || kit.IsNewer(t, made.ResourceVersion, last) {
			last = made.ResourceVersion
		}
	}
	client := kit.NewReplicas(t, in, 1)[0]
	for _, c := range []struct{ by, want []string }{
		{[]string{"spec.containers[*].image"}, []string{`2: "a"`, `2: "b"`}},
		{[]string{"spec.containers[*].image", "spec.nodeName"}, []string{`2: "a" <nil>`, `2: "b" <nil>`}},
		{[]string{"spec.initContainers[*].image"}, []string{`3: <nil>`}},
		{[]string{"spec.containers[*].image", "spec.containers[*].name"}, nil},
		{nil, nil},
	} {
		for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
			request := &kubeconnectv1.CountRequest{Resource: "pods", Namespace: namespace, GroupBy: c.by, Consistency: consistency}
			if consistency != kit.Latest {
				request.MinResourceVersion = last
			}
			count, err := client.Count(ctx, request)
			if err != nil || count.GetTotalCount() != 3 {
				t.Errorf("%v: %d, %v", c.by, count.GetTotalCount(), err)
			}
			if got := groupLines(count); len(c.by) > 0 && c.want == nil {
				t.Logf("%v: %q", c.by, got)
			} else if !slices.Equal(got, c.want) {
				t.Errorf("%v: %q, want %q", c.by, got, c.want)
			}
		}
	}
	nothing, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Namespace: namespace, LabelSelector: "app=none", GroupBy: []string{"spec.nodeName"}})
	if err != nil || nothing.GetTotalCount() != 0 || len(nothing.GetGroups()) != 0 || nothing.GetResourceVersion() == "" || nothing.GetResource().GetKind() != "Pod" || nothing.GetFreshness() == nil {
		t.Errorf("a count of nothing: %v, %v", nothing, err)
	}
	warned, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Namespace: namespace, Filter: "object.spec.nodeName == 'n'", MinResourceVersion: last})
	if err != nil || warned.GetTotalCount() != 0 || len(warned.GetWarnings()) == 0 {
		t.Errorf("a count by a filter without a value: %v, %v", warned, err)
	}
}
