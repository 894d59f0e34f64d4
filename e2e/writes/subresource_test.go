package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestSubresources_AreReadInEachEncoding(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		kit.CreateDeployment(ctx, t, namespace, "web", 3)
		want, err := kit.Cluster(t).Client.AppsV1().Deployments(namespace).GetScale(ctx, "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for content, encoding := range kit.Encodings {
			t.Run(content, func(t *testing.T) {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
					Resource: "deploy", Namespace: namespace, Name: "web", Subresource: "scale", Encoding: encoding,
				})
				if err != nil {
					t.Fatal(err)
				}
				kit.WantAPIServer(t, answer)
				kind := answer.GetResource()
				if kind.GetGroup() != "autoscaling" || kind.GetVersion() != "v1" || kind.GetKind() != "Scale" || kind.GetProtobufType() != "k8s.io.api.autoscaling.v1.Scale" {
					t.Errorf("kind %v", kind)
				}
				got := new(autoscalingv1.Scale)
				kit.Decode(t, answer.GetObject(), content, got)
				if got.UID != want.UID || got.Spec.Replicas != 3 || got.Status.Selector != want.Status.Selector {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	})
}

func TestSubresources_StatusReturnsTheObject(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	want := kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: namespace, Name: "one", Subresource: "status", Encoding: kit.Encodings["protobuf"]})
	if err != nil {
		t.Fatal(err)
	}
	got := new(corev1.Pod)
	kit.Decode(t, answer.GetObject(), "protobuf", got)
	if got.UID != want.UID || len(got.ManagedFields) > 0 || answer.GetResource().GetKind() != "Pod" {
		t.Errorf("got a %v: %v", answer.GetResource(), got)
	}
}

func TestSubresources_UnreadableOnesAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for part, test := range map[string]struct {
		code  connect.Code
		words []string
	}{
		"log":         {connect.CodeInvalidArgument, []string{"log", "PodService.GetLogs"}},
		"exec":        {connect.CodeInvalidArgument, []string{"kubectl exec"}},
		"attach":      {connect.CodeInvalidArgument, []string{"kubectl attach"}},
		"portforward": {connect.CodeInvalidArgument, []string{"kubectl port-forward"}},
		"proxy":       {connect.CodeInvalidArgument, []string{"kubectl proxy"}},
		"eviction":    {connect.CodeNotFound, []string{`pods have no subresource "eviction" that can be read`, `"status"`}},
		"scale":       {connect.CodeNotFound, []string{`"scale"`, `"status"`}},
		"a/../b":      {connect.CodeInvalidArgument, []string{"subresource", "a/../b"}},
		"..":          {connect.CodeInvalidArgument, []string{"subresource"}},
	} {
		t.Run(part, func(t *testing.T) {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "one", Subresource: part})
			kit.WantError(t, err, test.code, test.words...)
		})
	}
	_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "default", Name: "one", Subresource: "status"})
	kit.WantError(t, err, connect.CodeNotFound, `configmaps have no subresource that can be read`)
}
