package queries_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestRelated_EventsAboutANodeIncludeThoseOfItsKubelet creates events as controllers do, and as a
// kubelet does: it writes the name of its node in the place of the UID.
func TestRelated_EventsAboutANodeIncludeThoseOfItsKubelet(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	node, err := kit.Cluster(t).Client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for name, about := range map[string]corev1.ObjectReference{
		"controller":     {Kind: "Node", Name: node.Name, UID: node.UID},
		"kubelet":        {Kind: "Node", Name: node.Name, UID: types.UID(node.Name)},
		"another-node":   {Kind: "Node", Name: "node-2", UID: "node-2"},
		"pod-of-a-name":  {Kind: "Pod", Namespace: "default", Name: node.Name, UID: "8f3c5a3e-0000-4000-8000-000000000000"},
		"without-a-name": {Kind: "Node"},
	} {
		// Events about objects without a namespace are in "default".
		event, err := kit.Cluster(t).Client.CoreV1().Events("default").Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name, Labels: kit.Labels{"test": namespace}}, InvolvedObject: about,
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = event.ResourceVersion
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: "events", LabelSelector: "test=" + namespace, MinResourceVersion: last,
		Related: &kubeconnectv1.Relation{Type: relatedAbout, Resource: "nodes", Name: node.Name},
	})
	want := []string{namespace + "-controller", namespace + "-kubelet"}
	if got := kit.NamesOf(list.GetObjects()); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
