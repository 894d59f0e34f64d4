package scenarios_test

import (
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestScenario22_StreamEndsWithTheServiceAccount deletes a caller's service account while it
// watches.
func TestScenario22_StreamEndsWithTheServiceAccount(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t, "--recheck-interval", "1s")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			caller := kit.NewAccount(ctx, t, namespace, "reader")
			caller.GrantIn(namespace, "reader", kit.Rule("configmaps", "list", "watch"))
			clients := caller.Calling(service, protocol)
			request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
			kit.Eventually(ctx, t, "the caller has permission to watch", func() error {
				_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
				return err
			})
			stream := record.Watch(t, clients.Resources, request)
			stream.Synced(ctx)
			accounts := kit.Cluster(t).Client.CoreV1().ServiceAccounts(namespace)
			if err := accounts.Delete(ctx, "reader", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			kit.WantError(t, stream.End(ctx), connect.CodeUnauthenticated)
			if len(stream.Now().Points) == 0 {
				t.Error("the stream has no resume token")
			}
			kit.WantError(t, kit.WatchError(ctx, clients.Resources, request), connect.CodeUnauthenticated)
		})
	}
}
