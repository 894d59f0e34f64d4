package queries_test

import (
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/fields"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// TestLivePage_JoinsAreThoseOfTheCluster changes the objects that name the rows of a page, and the
// objects that the rows of another page name: after the last change both pages have what was written.
func TestLivePage_JoinsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	world, client := newLivePageWorld(ctx, t), kit.NewClient(t, kit.Cluster(t))
	namespace := world.namespaces[0]
	named := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for _, color := range []string{"red", "green"} {
		named.Create(color, kit.Labels{"shade": color})
	}
	naming := record.WatchPage(t, client, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, LabelSelector: "shade", Limit: 3,
		Joins: []*kubeconnectv1.Join{{Name: "gadgets", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Resource: world.gadgets.Name(), Path: "spec.color"}},
	}, validate.Page{})
	colors := record.WatchPage(t, client, &kubeconnectv1.WatchRequest{
		Resource: world.gadgets.Name(), Namespace: namespace, Limit: 100, OrderBy: "spec.rank desc",
		Joins: []*kubeconnectv1.Join{{Name: "color", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "spec.color", Fields: []string{"data.key"}}},
	}, validate.Page{})
	stop := world.churn(ctx)
	defer stop()
	for i := range 10 {
		named.Touch("red", fmt.Sprint("value ", i))
		kit.Eventually(ctx, t, "more changes are made", func() error { return world.wantWrites(20 * (i + 1)) })
	}
	named.Create("blue", kit.Labels{"shade": "blue"})
	named.Delete("green")
	stop()
	world.settle(ctx, "last")
	held := func(color string) map[validate.Key]string {
		return world.writes.Held(validate.Selection{Namespace: namespace, Fields: fields.SelectorFromSet(fields.Set{"spec.color": color})})
	}
	want := map[string]int{"red": len(held("red")), "blue": len(held("blue"))}
	naming.Until(ctx, fmt.Sprintf("the rows are named by %v gadgets", want), func(view *record.PageView) bool {
		got := map[string]int{}
		for _, row := range view.Objects {
			got[row.GetName()] = int(row.GetJoined()[0].GetCount())
		}
		return maps.Equal(got, want)
	})
	values := map[string]string{"red": "value 9", "blue": "value", "green": ""}
	colors.Until(ctx, "each gadget has the value of its color", func(view *record.PageView) bool {
		for color, value := range values {
			for _, row := range view.Objects {
				_, is := held(color)[validate.KeyOf(row)]
				joined := row.GetJoined()[0].GetObjects()
				if is && (len(joined) > 0) != (value != "") || is && value != "" && valueOf(joined[0]) != value {
					return false
				}
			}
		}
		return view.State.GetTotalCount() == int64(len(held("red"))+len(held("blue"))+len(held("green")))
	})
}

// valueOf returns the value of the key of a ConfigMap.
func valueOf(object *kubeconnectv1.Object) string {
	return object.GetStruct().GetFields()["data"].GetStructValue().GetFields()["key"].GetStringValue()
}
