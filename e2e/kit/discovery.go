package kit

import (
	"context"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// DiscoveryClient is the client of the service for discovery.
type DiscoveryClient = kubeconnectv1connect.DiscoveryServiceClient

// TypeOf returns the type of a resource; nil if it is not listed.
func TypeOf(list *kubeconnectv1.ListResourceTypesResponse, resource string) *kubeconnectv1.ResourceType {
	for _, resourceType := range list.GetResourceTypes() {
		if resourceType.GetResource().GetPlural() == resource {
			return resourceType
		}
	}
	return nil
}

// ListTypes returns the resource types of an API group.
func ListTypes(ctx context.Context, t *testing.T, client DiscoveryClient, group string) *kubeconnectv1.ListResourceTypesResponse {
	t.Helper()
	list, err := client.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{Group: group})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
