package alerts_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// replica is a service with a link to the API server that can fail, and with its metrics.
type replica struct {
	*harness.Service
	link   *harness.Proxy
	target *target
}

// startReplica starts a replica and blocks until it is ready. Flags override the usual ones.
func startReplica(ctx context.Context, t *testing.T, name string, flags ...string) *replica {
	t.Helper()
	return startReplicaOf(ctx, t, kit.Cluster(t), kit.Cluster(t).Kubeconfig, name, flags...)
}

// startReplicaOf starts a replica for a control plane with the credential in a kubeconfig.
func startReplicaOf(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, kubeconfig, name string, flags ...string) *replica {
	t.Helper()
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	all := slices.Concat([]string{"--preload", "configmaps,serviceaccounts", "--audit-log", os.DevNull}, withMetrics, flags)
	service := harness.StartService(t, harness.KubeconfigTo(t, kubeconfig, link.Address()), all...)
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	return &replica{service, link, newTarget(t, name, service)}
}
