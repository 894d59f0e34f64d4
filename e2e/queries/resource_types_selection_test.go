package queries_test

import (
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestResourceTypes_UnknownSelectionsAreEmpty(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Discovery
	for name, test := range map[string]struct {
		request *kubeconnectv1.ListResourceTypesRequest
		empty   bool
	}{
		"a group":                        {request: &kubeconnectv1.ListResourceTypesRequest{Group: "apps"}},
		"the core group":                 {request: &kubeconnectv1.ListResourceTypesRequest{Group: "core"}},
		"a category of a group":          {request: &kubeconnectv1.ListResourceTypesRequest{Group: "core", Category: "all"}},
		"an unknown group":               {request: &kubeconnectv1.ListResourceTypesRequest{Group: "absent.example.com"}, empty: true},
		"an unknown category":            {request: &kubeconnectv1.ListResourceTypesRequest{Category: "absent"}, empty: true},
		"a category of no type of group": {request: &kubeconnectv1.ListResourceTypesRequest{Group: "rbac.authorization.k8s.io", Category: "all"}, empty: true},
	} {
		response, err := client.ListResourceTypes(ctx, test.request)
		if err != nil || (len(response.GetResourceTypes()) == 0) != test.empty || len(response.GetFailedGroupVersions()) > 0 {
			t.Errorf("%s: %d types, failed groups %v, %v", name, len(response.GetResourceTypes()), response.GetFailedGroupVersions(), err)
		}
	}
}
