package queries_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// failingCalls returns a call of each RPC that can fail because of its request.
func failingCalls(clients harness.Clients) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Get": func(ctx context.Context) error {
			_, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default"})
			return err
		},
		"List": func(ctx context.Context) error {
			_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Filter: "object."})
			return err
		},
		"Count": func(ctx context.Context) error {
			_, err := clients.Resources.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", MaxGroups: -1})
			return err
		},
		"GetTable": func(ctx context.Context) error {
			_, err := clients.Resources.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "podz"})
			return err
		},
		"Watch": func(ctx context.Context) error {
			return kit.WatchError(ctx, clients.Resources, &kubeconnectv1.WatchRequest{Resource: "nodes", Namespace: "default"})
		},
		"WatchMany": func(ctx context.Context) error {
			_, err := firstOfMany(ctx, clients.Resources, &kubeconnectv1.WatchManyRequest{})
			return err
		},
		"Create": func(ctx context.Context) error {
			_, err := clients.Resources.Create(ctx, &kubeconnectv1.CreateRequest{Resource: "configmaps", Namespace: "default"})
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := clients.Resources.Update(ctx, &kubeconnectv1.UpdateRequest{Resource: "configmaps", Namespace: "default", Name: "one"})
			return err
		},
		"Patch": func(ctx context.Context) error {
			_, err := clients.Resources.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: "default", Name: "one"}, "{}"))
			return err
		},
		"Delete": func(ctx context.Context) error {
			_, err := clients.Resources.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: "default", Name: "absent"})
			return err
		},
		"DeleteCollection": func(ctx context.Context) error {
			_, err := clients.Resources.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: "configmaps"})
			return err
		},
		"GetLogs": func(ctx context.Context) error {
			_, err := kit.ReadLog(ctx, clients.Pods, &kit.LogRequest{Name: "one"})
			return err
		},
		"GetSchema": func(ctx context.Context) error {
			_, err := clients.Discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{})
			return err
		},
		"CheckAccess": func(ctx context.Context) error {
			_, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{{Resource: "pods"}}})
			return err
		},
	}
}

// TestErrors_HaveAStatus calls over each protocol.
func TestErrors_HaveAStatus(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			for name, call := range failingCalls(harness.Dial(harness.HTTP2(t), service.Address, protocol)) {
				err := call(ctx)
				var failure *connect.Error
				if !errors.As(err, &failure) {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if status := kit.StatusIn(err); status.GetReason() == "" || status.GetMessage() == "" || !strings.HasSuffix(failure.Message(), status.GetMessage()) {
					t.Errorf("%s: message %q, status %v", name, failure.Message(), status)
				}
			}
		})
	}
}
