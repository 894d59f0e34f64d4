package kit

import (
	"context"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// ErrorOf returns a call that returns only the error.
func ErrorOf[Request, Response any](call func(context.Context, *Request) (*Response, error), request *Request) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, request)
		return err
	}
}

// ResourceClient is the client of the service for resources.
type ResourceClient = kubeconnectv1connect.ResourceServiceClient

// NewClient starts a service for a control plane and returns a client of it, over Connect and
// HTTP/2.
func NewClient(t *testing.T, before *harness.Cluster) ResourceClient {
	t.Helper()
	service := harness.StartService(t, before.Kubeconfig)
	return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
}

// NewClientBehindProxy is NewClient with a proxy between the service and the API server, which has
// an initial fault.
func NewClientBehindProxy(t *testing.T, before *harness.Cluster, fault harness.Fault) (ResourceClient, *harness.Proxy) {
	t.Helper()
	link := harness.StartProxy(t, before.Address(), fault)
	service := harness.StartService(t, harness.KubeconfigTo(t, before.Kubeconfig, link.Address()))
	return harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources, link
}

// OverEachProtocol runs a test for each protocol in parallel, with clients of one service.
func OverEachProtocol(t *testing.T, before *harness.Cluster, test func(*testing.T, ResourceClient)) {
	t.Helper()
	service := harness.StartService(t, before.Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources)
		})
	}
}
