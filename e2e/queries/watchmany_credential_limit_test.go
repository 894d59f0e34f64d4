package queries_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestWatchMany_MoreWatchesThanACredentialCanHaveAreInvalid asks for more watches than any attempt can
// get. "More watches than a caller, or one of its credentials, can have streams are INVALID_ARGUMENT."
func TestWatchMany_MoreWatchesThanACredentialCanHaveAreInvalid(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, namespace, "reader")
	account.GrantIn(namespace, "reader", kit.Rule("configmaps", "list", "watch"))
	watches := make([]*kubeconnectv1.WatchSpec, 4)
	for i := range watches {
		watches[i] = &kubeconnectv1.WatchSpec{Resource: "configmaps", Namespace: namespace}
	}
	for _, flag := range []string{"--caller-max-streams", "--credential-max-streams"} {
		t.Run(flag, func(t *testing.T) {
			client := account.Calling(kit.StartForCallers(t, flag, "3"), harness.Connect).Resources
			_, err := firstOfMany(ctx, client, &kubeconnectv1.WatchManyRequest{Watches: watches})
			kit.WantError(t, err, connect.CodeInvalidArgument, "4 watches")
		})
	}
}
