package e2e_test

import (
	"testing"

	"connectrpc.com/connect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestScenario14_CustomResourcesAreSelectedByDeclaredFields(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	red := gadgets.create("v1", namespace, "one", map[string]any{"color": "red", "size": "large"})
	untilRead(ctx, t, client, gadgets.name(), red)
	watch := func(selector string) *record.Stream {
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
			Resource: gadgets.name(), Namespace: namespace, FieldSelector: selector,
		})
		stream.Synced(ctx)
		return stream
	}
	isRed, isNotRed := watch("spec.color=red"), watch("spec.color!=red,metadata.name!=last")
	wantSnapshot(t, isRed, added(red))
	wantSnapshot(t, isNotRed)

	blue := gadgets.recolor(red, "blue")
	back := gadgets.recolor(blue, "red")
	last := gadgets.create("v1", namespace, "last", nil)

	wantChanges(t, isRed.Reaches(ctx, last.GetResourceVersion()), deleted(red), added(back))
	wantChanges(t, isNotRed.Reaches(ctx, last.GetResourceVersion()), added(blue), deleted(blue))
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: gadgets.name(), FieldSelector: "spec.size=large"})
	wantError(t, err, connect.CodeInvalidArgument, "field label not supported: spec.size")
}

func (c customResource) recolor(gadget *unstructured.Unstructured, color string) *unstructured.Unstructured {
	c.t.Helper()
	changed := gadget.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, color, "spec", "color"); err != nil {
		c.t.Fatal(err)
	}
	changed, err := c.objects("v1", gadget.GetNamespace()).Update(c.ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return changed
}
