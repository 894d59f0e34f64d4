package e2e_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

type resourceClient = kubeconnectv1connect.ResourceServiceClient

// newClient starts a service for a control plane and returns a client of it, over Connect and
// HTTP/2.
func newClient(t *testing.T, before *harness.Cluster) resourceClient {
	t.Helper()
	service := harness.StartService(t, before.Kubeconfig)
	return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
}

// newClientBehindProxy is newClient with a proxy between the service and the API server, which has
// an initial fault.
func newClientBehindProxy(t *testing.T, before *harness.Cluster, fault harness.Fault) (resourceClient, *harness.Proxy) {
	t.Helper()
	link := harness.StartProxy(t, before.Address(), fault)
	service := harness.StartService(t, harness.KubeconfigTo(t, before.Kubeconfig, link.Address()))
	return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources, link
}

// overEachProtocol runs a test for each protocol in parallel, with clients of one service.
func overEachProtocol(t *testing.T, before *harness.Cluster, test func(*testing.T, resourceClient)) {
	t.Helper()
	service := harness.StartService(t, before.Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources)
		})
	}
}
