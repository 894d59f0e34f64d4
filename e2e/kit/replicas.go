package kit

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// NewReplicas starts replicas without authentication, and returns a client of each.
func NewReplicas(t *testing.T, in *harness.Cluster, count int, flags ...string) (clients []ResourceClient) {
	t.Helper()
	for range count {
		service := harness.StartService(t, in.Kubeconfig, flags...)
		clients = append(clients, harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources)
	}
	return clients
}
