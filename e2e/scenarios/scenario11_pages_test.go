package scenarios_test

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestScenario11_PagesDuringWritesAreConsistent compares the objects of all pages with
// those of the API server at the pages' version.
func TestScenario11_PagesDuringWritesAreConsistent(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		var last *corev1.ConfigMap
		for i := range kit.PagedCount {
			last = write.Create(kit.PagedName(i), nil)
		}
		kit.UntilRead(ctx, t, client, "configmaps", last)

		request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: kit.PagedSize}
		var listed []string
		var version string
		for page := 0; ; page++ {
			answer, err := client.List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			version = answer.GetResourceVersion()
			for _, object := range answer.GetObjects() {
				listed = append(listed, object.GetName()+" "+object.GetResourceVersion())
			}
			if answer.GetNextPageToken() == "" {
				break
			}
			request.PageToken = answer.GetNextPageToken()
			// Objects of earlier pages change, and objects of later ones.
			write.Touch(kit.PagedName(page), "changed")
			write.Delete(kit.PagedName(kit.PagedCount - 1 - page))
			kit.UntilRead(ctx, t, client, "configmaps", write.Create(fmt.Sprintf("new-%02d", page), nil))
		}
		if held := kit.HeldAt(ctx, t, kit.Cluster(t), namespace, version); !slices.Equal(listed, held) {
			t.Errorf("at version %s: pages\n%v\nAPI server\n%v", version, listed, held)
		}
	})
}

// TestScenario11_ExpiredPageTokenIsReported continues a list at a replica that has
// started after the API server had compacted the list's version.
func TestScenario11_ExpiredPageTokenIsReported(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := kit.Deadline(t), kit.CompactingCluster(t)
	namespace, client := kit.NewNamespace(ctx, t, controlPlane), kit.NewClient(t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	write.Create("one", nil)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("two", nil))
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1}
	first, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	write.Delete("two")
	kit.UntilCompacted(ctx, t, controlPlane, first.GetResourceVersion())
	later := kit.NewClient(t, controlPlane)
	request.PageToken = first.GetNextPageToken()
	_, err = later.List(ctx, request)
	kit.WantError(t, err, connect.CodeOutOfRange, "list again from the first page")
	kit.WantStatus(t, err, "Expired")
	if objects := kit.ListAll(ctx, t, client, request); len(objects) != 2 {
		t.Errorf("the replica that has the version returns %d more objects, want 2", len(objects))
	}
	request.PageToken = ""
	if objects := kit.ListAll(ctx, t, later, request); len(objects) != 2 {
		t.Errorf("a new list has %d objects, want 2", len(objects))
	}
}
