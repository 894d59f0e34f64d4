package faults_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestTokenGeneration_OtherTokensGetASnapshot resumes at replicas of two generations.
func TestTokenGeneration_OtherTokensGetASnapshot(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	created := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	replica := func(generation string) kit.ResourceClient {
		service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--token-generation", generation)
		return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	}
	old, same, other := replica("1"), replica("1"), replica("2")
	first := func(client kit.ResourceClient, token string) (kubeconnectv1.EventType, string) {
		t.Helper()
		stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, ResumeToken: token, MinResourceVersion: created.ResourceVersion,
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
		return stream.Msg().GetEvents()[0].GetType(), stream.Msg().GetResumeToken()
	}
	_, token := first(old, "")
	if begins, _ := first(same, token); begins != kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
		t.Errorf("in the same generation the stream resumes with %v", begins)
	}
	if begins, _ := first(other, token); begins != kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("in another generation the stream resumes with %v", begins)
	}
}
