package reads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// counted returns the groups, one in each line.
func counted(t testing.TB, most int, groupBy []string, objects ...*informerhub.Object) (lines []string, total int, err error) {
	t.Helper()
	plan, err := ParsePlan(&kubeconnectv1.CountRequest{GroupBy: groupBy})
	if err != nil {
		return nil, 0, err
	}
	counter, err := countAll(t.Context(), plan, objects)
	if err != nil {
		return nil, 0, err
	}
	groups, remaining := counter.Largest(most, maxGroupsBytes)
	for _, group := range groups {
		line := fmt.Sprint(group.GetCount())
		for _, value := range group.GetValues() {
			text, err := json.Marshal(value.AsInterface())
			if err != nil {
				t.Fatal(err)
			}
			line += " " + string(text)
		}
		lines = append(lines, line)
	}
	return lines, len(groups) + remaining, nil
}

func TestCount_GroupsObjectsByValues(t *testing.T) {
	widgets := servertest.WidgetsWith(t,
		`{"color":"red","parts":[{"of":"iron","size":1},{"of":"iron","size":2},{"of":"wood","size":1}]}`,
		`{"color":"red","parts":[]}`,
		`{"color":"blue","parts":[{"of":"iron","size":1.0}]}`,
		`{"color":null,"parts":[{"size":"1"}]}`,
		`{"color":true}`,
		`{"color":10}`,
		`{"color":"10"}`,
		`{"color":9}`,
	)
	for _, test := range []struct {
		by   string
		want string
	}{
		{"spec.color", `2 "red"|1 null|1 true|1 9|1 10|1 "10"|1 "blue"`},
		{"spec.nosuch", `8 null`},
		{"spec.parts[*].of", `6 null|2 "iron"|1 "wood"`},
		{"spec.parts[*].size", `5 null|2 1|1 "1"|1 2`},
		{"spec.parts[*].of spec.parts[*].size", `5 null null|2 "iron" 1|1 null "1"|1 "iron" 2|1 "wood" 1|1 "wood" 2`},
		{"spec.color spec.parts[*].of", `1 null null|1 true null|1 9 null|1 10 null|1 "10" null|1 "blue" "iron"|1 "red" null|1 "red" "iron"|1 "red" "wood"`},
		{"metadata.labels[*]", `8 null`},
		{"metadata.namespace", `8 "a"`},
	} {
		t.Run(test.by, func(t *testing.T) {
			got, total, err := counted(t, maxMaxGroups, strings.Fields(test.by), widgets...)
			if err != nil || strings.Join(got, "|") != test.want || total != len(got) {
				t.Errorf("got %d: %s, %v\nwant %s", total, strings.Join(got, "|"), err, test.want)
			}
		})
	}
}

func TestCount_GroupsBuiltInObjects(t *testing.T) {
	var objects []*informerhub.Object
	for i := range 5 {
		pod := objecttest.Pod(fmt.Sprint("pod-", i), i)
		pod.Spec.NodeName = fmt.Sprint("node-", i%2)
		pod.Spec.HostNetwork = i == 0
		pod.Spec.Containers = []corev1.Container{{Image: "a"}, {Image: fmt.Sprint("b", i%2)}, {Image: "a"}}
		objects = append(objects, objecttest.PodObject(t, pod))
	}
	for by, want := range map[string]string{
		"spec.nodeName":            `3 "node-0"|2 "node-1"`,
		"spec.hostNetwork":         `4 null|1 true`,
		"spec.containers[*].image": `5 "a"|3 "b0"|2 "b1"`,
	} {
		if got, _, err := counted(t, maxMaxGroups, []string{by}, objects...); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: got %v, %v; want %s", by, got, err, want)
		}
	}
}

func TestCount_ReturnsTheLargestGroups(t *testing.T) {
	var specs []string
	for i := range 50 {
		for range i/10 + 1 {
			specs = append(specs, fmt.Sprintf(`{"n":%d}`, i))
		}
	}
	got, total, err := counted(t, 12, []string{"spec.n"}, servertest.WidgetsWith(t, specs...)...)
	if want := "5 40|5 41|5 42|5 43|5 44|5 45|5 46|5 47|5 48|5 49|4 30|4 31"; err != nil || total != 50 || strings.Join(got, "|") != want {
		t.Errorf("got %d: %s, %v", total, strings.Join(got, "|"), err)
	}
}

// TestCount_ResponsesFitIntoMessages has values of the maximum size of annotations.
func TestCount_ResponsesFitIntoMessages(t *testing.T) {
	var specs []string
	for i := range 30 {
		specs = append(specs, fmt.Sprintf(`{"n":"%03d%s"}`, i, strings.Repeat("x", 256<<10)))
	}
	got, total, err := counted(t, maxMaxGroups, []string{"spec.n"}, servertest.WidgetsWith(t, specs...)...)
	if err != nil || total != 30 || len(got) < 5 || len(got) > 12 {
		t.Errorf("got %d of %d, %v", len(got), total, err)
	}
}

func TestCount_InvalidCountsAreBadRequests(t *testing.T) {
	list := func(n int) string { return "[" + strings.Join(numbered(n), ",") + "]" }
	wide := servertest.WidgetsWith(t, fmt.Sprintf(`{"a":%s,"b":%s,"c":%s}`, list(10_000), list(10_000), list(10_000)))
	for name, test := range map[string]struct {
		by      string
		objects []*informerhub.Object
		says    string
	}{
		"an object":                  {"spec", wide, `"spec" is an object or a list in Widget "w-0"`},
		"a list":                     {"spec.a", wide, `"spec.a" is an object or a list`},
		"too many combinations":      {"spec.a[*] spec.b[*] spec.c[*]", wide, "combinations"},
		"too many paths":             {"a b c d e f g h i", nil, "9 paths"},
		"a path that is none":        {"a[0]", nil, "single elements"},
		"more values than there may": {"spec.n", servertest.WidgetsWith(t, longTexts(300)...), "too many different values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := counted(t, maxMaxGroups, strings.Fields(test.by), test.objects...)
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("returned %v", err)
			}
		})
	}
	if got, _, err := counted(t, maxMaxGroups, []string{"spec.a[*]"}, wide...); err != nil || len(got) != 10_000 {
		t.Errorf("of 10,000 values, %d groups, %v", len(got), err)
	}
}

func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	return texts
}

// longTexts returns specs with different strings of 256 KiB.
func longTexts(n int) []string {
	specs := make([]string, n)
	for i := range specs {
		specs[i] = fmt.Sprintf(`{"n":"%03d%s"}`, i, strings.Repeat("x", 256<<10))
	}
	return specs
}

func TestCount_EndsWhenTheClientDisconnects(t *testing.T) {
	plan, err := ParsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"spec.a[*]"}})
	if err != nil {
		t.Fatal(err)
	}
	one := servertest.WidgetsWith(t, `{"a":[`+strings.Join(numbered(10_000), ",")+`]}`)
	ctx := &servertest.Leaving{Context: t.Context(), Looks: 3}
	if counter, err := countAll(ctx, plan, one); !errors.Is(err, context.Canceled) || counter != nil {
		t.Errorf("counted in spite of that, %v", err)
	}
}

func TestCount_NumberOfGroupsIsBounded(t *testing.T) {
	for asked, want := range map[int32]int{0: 1_000, 1: 1, 10_000: 10_000} {
		if got, err := parseMaxGroups(asked); err != nil || got != want {
			t.Errorf("%d: %d, %v", asked, got, err)
		}
	}
	for _, asked := range []int32{-1, 10_001} {
		if _, err := parseMaxGroups(asked); !apierrors.IsBadRequest(err) {
			t.Errorf("%d: %v", asked, err)
		}
	}
}

const (
	sumOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM
	averageOf = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_AVERAGE
	minOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MIN
	maxOf     = kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX
)

func TestCount_AggregatesAreOfAllObjectsAndOfEachGroup(t *testing.T) {
	widgets := servertest.WidgetsWith(t,
		`{"color":"red","parts":[{"of":"iron","cpu":"500m"},{"of":"wood","cpu":2}]}`,
		`{"color":"red","parts":[{"of":"iron","cpu":"1"},{"of":"iron","cpu":"much"}]}`,
		`{"color":"blue"}`,
	)
	request := &kubeconnectv1.CountRequest{Aggregates: []*kubeconnectv1.Aggregate{
		servertest.Aggregate(sumOf, "spec.parts[*].cpu"), servertest.Aggregate(averageOf, "spec.parts[*].cpu"), servertest.Aggregate(minOf, "spec.parts[*].cpu"),
		servertest.Aggregate(maxOf, "spec.parts[*].cpu"), servertest.Aggregate(maxOf, "spec.color"),
	}}
	const all = "3.5/3+1 1.16666666666666666667/3+1 0.5/4 much/4 red/3"
	for by, want := range map[string]string{
		"":                 "",
		"spec.color":       "2: 3.5/3+1 1.16666666666666666667/3+1 0.5/4 much/4 red/2|1: <nil>/0 <nil>/0 <nil>/0 <nil>/0 blue/1",
		"spec.parts[*].of": "2: 3.5/3+1 1.16666666666666666667/3+1 0.5/4 much/4 red/2|1: <nil>/0 <nil>/0 <nil>/0 <nil>/0 blue/1|1: 2.5/2 1.25/2 0.5/2 2/2 red/1",
	} {
		request.GroupBy = strings.Fields(by)
		plan, err := ParsePlan(request)
		if err != nil {
			t.Fatal(err)
		}
		response := &kubeconnectv1.CountResponse{}
		if err := addGroups(t.Context(), response, countParams{plan: plan, maxGroups: maxMaxGroups}, widgets); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, group := range response.GetGroups() {
			lines = append(lines, fmt.Sprint(group.GetCount(), ": ", servertest.AggregateLine(group.GetAggregates())))
		}
		if got := strings.Join(lines, "|"); got != want || servertest.AggregateLine(response.GetAggregates()) != all {
			t.Errorf("by %q: got %s, in total %s; want %s", by, got, servertest.AggregateLine(response.GetAggregates()), want)
		}
	}
}

func TestCount_InvalidAggregatesAreBadRequests(t *testing.T) {
	for name, test := range map[string]struct {
		aggregates []*kubeconnectv1.Aggregate
		says       string
	}{
		"no function":         {[]*kubeconnectv1.Aggregate{servertest.Aggregate(0, "spec.a")}, "a function is required"},
		"an unknown function": {[]*kubeconnectv1.Aggregate{servertest.Aggregate(9, "spec.a")}, "unknown function 9"},
		"no path":             {[]*kubeconnectv1.Aggregate{servertest.Aggregate(sumOf, "")}, "a path is required"},
		"an invalid path":     {[]*kubeconnectv1.Aggregate{servertest.Aggregate(sumOf, "a[0]")}, "single elements"},
		"one twice":           {[]*kubeconnectv1.Aggregate{servertest.Aggregate(sumOf, "spec.a"), servertest.Aggregate(sumOf, ".spec['a']")}, "is given twice"},
		"nine":                {slices.Repeat([]*kubeconnectv1.Aggregate{servertest.Aggregate(sumOf, "spec.a")}, 9), "9 aggregates"},
		"an object":           {[]*kubeconnectv1.Aggregate{servertest.Aggregate(sumOf, "spec")}, `aggregates: "spec" is an object or a list`},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := ParsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"spec.a"}, Aggregates: test.aggregates})
			if err == nil {
				widgets := servertest.WidgetsWith(t, `{"a":1}`)
				err = addGroups(t.Context(), &kubeconnectv1.CountResponse{}, countParams{plan: plan, maxGroups: 1}, widgets)
			}
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("returned %v", err)
			}
		})
	}
}
