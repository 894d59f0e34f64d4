package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

const (
	// largeSize is close to the limit of etcd, with space for metadata.
	largeSize = 1_400_000
	// largeCount is the number of objects, which is too large for one message.
	largeCount = 4
)

func TestScenario21_LargestObjectsAreDeliveredComplete(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	var created []*corev1.PodTemplate
	for i := range largeCount {
		created = append(created, createLarge(ctx, t, namespace, fmt.Sprintf("large-%d", i)))
	}
	last := created[largeCount-1]
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		kit.UntilRead(ctx, t, client, "podtemplates", last)
		for content, encoding := range kit.Encodings {
			t.Run("listed as "+content, func(t *testing.T) {
				wantLarge(t, content, kit.ListAll(ctx, t, client, &kubeconnectv1.ListRequest{
					Resource: "podtemplates", Namespace: namespace, Encoding: encoding,
				}))
			})
			t.Run("watched as "+content, func(t *testing.T) {
				view := kit.UntilHeld(ctx, record.Watch(t, client, &kubeconnectv1.WatchRequest{
					Resource: "podtemplates", Namespace: namespace, Encoding: encoding,
				}), kit.VersionsOf(created...))
				wantLarge(t, content, slices.Collect(maps.Values(view.Model.Objects)))
			})
		}
	})
}

func TestScenario21_LargeObjectIsPatchedAndWatched(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	kit.UntilRead(ctx, t, client, "podtemplates", createLarge(ctx, t, namespace, "large"))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: "podtemplates", Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	})
	stream.Synced(ctx)

	argument := strings.Repeat("y", largeSize)
	answer := kit.Patch(ctx, t, client, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "podtemplates", Namespace: namespace, Name: "large",
		Type: kubeconnectv1.PatchType_PATCH_TYPE_JSON,
	}, `[{"op":"replace","path":"/template/spec/containers/0/args/0","value":"`+argument+`"}]`))

	view := stream.Reaches(ctx, answer.GetObject().GetResourceVersion())
	changes := record.AfterSnapshot(view.Events)
	if len(changes) != 1 {
		t.Fatalf("%d changes, want one", len(changes))
	}
	got := new(corev1.PodTemplate)
	kit.Decode(t, changes[0].GetObject(), "protobuf", got)
	if got.Template.Spec.Containers[0].Args[0] != argument {
		t.Error("the event does not have the new value")
	}
}

// createLarge creates a pod template, the only built-in kind that can be large and has no
// controller.
func createLarge(ctx context.Context, t *testing.T, namespace, name string) *corev1.PodTemplate {
	t.Helper()
	spec := kit.UnscheduledPod("").Spec
	spec.Containers[0].Args = []string{largeArgument(name)}
	created, err := kit.Cluster(t).Client.CoreV1().PodTemplates(namespace).Create(ctx, &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Template:   corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: kit.Labels{"app": "large"}}, Spec: spec},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// largeArgument returns a text of two-byte characters, so that truncation at a fixed length would
// be detected.
func largeArgument(name string) string {
	return name + strings.Repeat("é", (largeSize-len(name))/len("é"))
}

func wantLarge(t *testing.T, content string, objects []*kubeconnectv1.Object) {
	t.Helper()
	if len(objects) != largeCount {
		t.Fatalf("%d objects, want %d", len(objects), largeCount)
	}
	for _, object := range objects {
		got := new(corev1.PodTemplate)
		kit.Decode(t, object, content, got)
		if got.Template.Spec.Containers[0].Args[0] != largeArgument(object.GetName()) {
			t.Errorf("the content of %s differs", object.GetName())
		}
	}
}
