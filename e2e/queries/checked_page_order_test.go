package queries_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// Namespaces of which one is the beginning of the other: "in order of namespace and name".
func TestChecked_PagesOfNamespacesWithACommonPrefixAreOrdered(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	short := kit.NewNamespace(ctx, t, in)
	long := kit.CreateNamespace(ctx, t, short+"-b")
	var want []string
	for _, namespace := range []string{short, long} {
		for _, name := range []string{"a", "a-b", "a.b"} {
			kit.ConfigMapsIn(ctx, t, in, namespace).Create(name, kit.Labels{"order": short})
			want = append(want, namespace+"/"+name)
		}
	}
	for kind, clients := range map[string][]kit.ResourceClient{
		"cached": kit.NewReplicas(t, in, 3), "uncached": kit.NewReplicas(t, in, 2, "--uncached", "configmaps"),
	} {
		for _, consistency := range []kubeconnectv1.Consistency{kubeconnectv1.Consistency_CONSISTENCY_CACHED, kubeconnectv1.Consistency_CONSISTENCY_LATEST} {
			for _, order := range []string{"", "metadata.labels.order desc"} {
				for _, size := range []int32{0, 1, 2, 4} {
					request := &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "order=" + short, PageSize: size, Consistency: consistency, OrderBy: order}
					var got []string
					kit.Eventually(ctx, t, "all is read", func() error {
						got = nil
						for _, object := range kit.WalkPages(ctx, t, clients, request, nil) {
							got = append(got, object.GetNamespace()+"/"+object.GetName())
						}
						if len(got) < len(want) {
							return fmt.Errorf("%v", got)
						}
						return nil
					})
					if !slices.Equal(got, want) {
						t.Errorf("%s, %v, order %q, pages of %d: %v, want %v", kind, consistency, order, size, got, want)
					}
				}
			}
		}
	}
}

// "What is not there comes first, then false and true, then numbers and quantities by value, then
// text, naturally"; in pages of one, at three replicas.
func TestChecked_PagesSortedByUnusualValuesAreOrdered(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	gadgets := kit.NewCustomResource(ctx, t, in, namespace)
	gadgets.Define("v1")
	missing := struct{}{}
	inOrder := []any{
		missing, false, true, int64(math.MinInt64), int64(-5), "-100m", int64(0), "500m", 0.75, int64(1), 1.5, int64(2), "1Ki", "1M",
		int64(9007199254740992), int64(9007199254740993), "9007199254740994", "1E", int64(math.MaxInt64), "20E", "a", "b-9", "b-10", "web-2", "web-10", "web-10-1",
	}
	for i, value := range inOrder {
		spec := map[string]any{"color": "red"}
		if value != missing {
			spec["key"] = value
		}
		kit.CreateGadget(t, gadgets, namespace, fmt.Sprintf("g-%02d", (i*7)%len(inOrder)), spec, fmt.Sprint(i))
	}
	odd := []any{"", " ", "é", "日本", "A", "Z", "00", "007", "7", int64(7), "7.0", 7.5, "0x7", "1e3", "-", "\x7f", "a\nb", strings.Repeat("long", 3000), nil, "true", "null", "NaN", "Inf", 1e300, -1e300, 5e-324, "1e400"}
	for i, value := range odd {
		kit.CreateGadget(t, gadgets, namespace, fmt.Sprintf("odd-%02d", i), map[string]any{"color": "blue", "key": value}, fmt.Sprint(i))
	}
	clients := kit.NewReplicas(t, in, 3)
	for _, client := range clients {
		kit.Eventually(ctx, t, "all are read", func() error {
			page, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.Name(), Namespace: namespace})
			if err == nil && len(page.GetObjects()) != len(inOrder)+len(odd) {
				err = fmt.Errorf("%d", len(page.GetObjects()))
			}
			return err
		})
	}
	for _, consistency := range []kubeconnectv1.Consistency{kubeconnectv1.Consistency_CONSISTENCY_CACHED, kubeconnectv1.Consistency_CONSISTENCY_LATEST} {
		for _, direction := range []string{"", " desc"} {
			request := &kubeconnectv1.ListRequest{Resource: gadgets.Name(), Namespace: namespace, FieldSelector: "spec.color=red", OrderBy: "spec.key" + direction, Consistency: consistency, PageSize: 1}
			var got, want []string
			for _, object := range kit.WalkPages(ctx, t, clients, request, nil) {
				got = append(got, indexOf(object))
			}
			for i := range inOrder {
				want = append(want, fmt.Sprint(i))
			}
			if direction != "" {
				slices.Reverse(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v%s: the order is\n%v, want\n%v", consistency, direction, valuesAt(inOrder, got), valuesAt(inOrder, want))
			}
			request.FieldSelector, request.PageSize = "spec.color=blue", 0
			whole, err := clients[0].List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int32{1, 2, 5} {
				request.PageSize = size
				kit.WantStates(t, kit.WalkPages(ctx, t, clients, request, nil), whole.GetObjects())
			}
		}
	}
}

func indexOf(object *kubeconnectv1.Object) string {
	labels := object.GetStruct().GetFields()["metadata"].GetStructValue().GetFields()["labels"].GetStructValue()
	return labels.GetFields()["index"].GetStringValue()
}

func valuesAt(of []any, indexes []string) (values []string) {
	for _, index := range indexes {
		i := 0
		if _, err := fmt.Sscan(index, &i); err == nil {
			values = append(values, fmt.Sprintf("%#v", of[i]))
		}
	}
	return values
}

// A key of a sorted list can be as long as an object.
func TestChecked_PagesSortedByLongTextsAreOrdered(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	write := kit.ConfigMapsIn(ctx, t, in, kit.NewNamespace(ctx, t, in))
	clients := kit.NewReplicas(t, in, 2)
	for _, length := range []int{1_000, 3_000, 30_000, 300_000} {
		mark := fmt.Sprint("long-", length)
		var last string
		for i, end := range []string{"c", "a", "b", "a"} {
			name := fmt.Sprintf("%s-%d", mark, i)
			write.Create(name, kit.Labels{"mark": mark})
			last = write.Patch(name, map[string]any{"data": map[string]any{"key": strings.Repeat("x", length) + end}}).ResourceVersion
		}
		request := &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "mark=" + mark, OrderBy: "data.key", MinResourceVersion: last, PageSize: 1, Fields: []string{"metadata.name"}}
		got := kit.NamesOf(kit.WalkPages(ctx, t, clients, request, nil))
		want := []string{mark + "-1", mark + "-3", mark + "-2", mark + "-0"}
		if length > 1024 { // "Only the characters in the first 1,024 bytes of a string are compared."
			want = []string{mark + "-0", mark + "-1", mark + "-2", mark + "-3"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("keys of %d bytes: %v, want %v", length, got, want)
		}
	}
}
