package queries_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestEncoding_BuiltInObjectsAreComplete(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		want := kit.CreateUnscheduledPod(ctx, t, namespace, "one")
		kit.UntilRead(ctx, t, client, "pods", want)
		want.ManagedFields = nil
		for content, encoding := range kit.Encodings {
			t.Run(content, func(t *testing.T) {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
					Resource: "pods", Namespace: namespace, Name: "one", Encoding: encoding,
				})
				if err != nil {
					t.Fatal(err)
				}
				kit.WantHead(t, answer.GetObject(), want)
				got := new(corev1.Pod)
				kit.Decode(t, answer.GetObject(), content, got)
				if got.TypeMeta = (metav1.TypeMeta{}); !apiequality.Semantic.DeepEqual(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	})
}

func TestEncoding_CustomResourcesFallBackToJSON(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	want := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red", "size": 1.5, "count": int64(7)})
	want.SetManagedFields(nil)
	kit.UntilRead(ctx, t, client, gadgets.Name(), want)
	for requested, expected := range map[string]string{"struct": "struct", "json": "json", "protobuf": "json"} {
		t.Run(requested, func(t *testing.T) {
			answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
				Resource: gadgets.Name(), Namespace: namespace, Name: "one", Encoding: kit.Encodings[requested],
			})
			if err != nil {
				t.Fatal(err)
			}
			kit.WantHead(t, answer.GetObject(), want)
			if answer.GetResource().GetProtobufType() != "" {
				t.Errorf("protobuf type of the kind %q", answer.GetResource().GetProtobufType())
			}
			got := want.NewEmptyInstance()
			kit.Decode(t, answer.GetObject(), expected, got)
			if !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}
