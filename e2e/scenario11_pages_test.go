package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// pagedCount is the number of listed objects, in pages of pagedSize.
const (
	pagedCount = 60
	pagedSize  = 7
)

// TestScenario11_PagesDuringWritesAreConsistent compares the objects of all pages with
// those of the API server at the pages' version.
func TestScenario11_PagesDuringWritesAreConsistent(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		write := configMapsIn(ctx, t, cluster(t), namespace)
		var last *corev1.ConfigMap
		for i := range pagedCount {
			last = write.create(pagedName(i), nil)
		}
		untilRead(ctx, t, client, "configmaps", last)

		request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: pagedSize}
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
			write.touch(pagedName(page), "changed")
			write.delete(pagedName(pagedCount - 1 - page))
			untilRead(ctx, t, client, "configmaps", write.create(fmt.Sprintf("new-%02d", page), nil))
		}
		if held := heldAt(ctx, t, cluster(t), namespace, version); !slices.Equal(listed, held) {
			t.Errorf("at version %s: pages\n%v\nAPI server\n%v", version, listed, held)
		}
	})
}

func pagedName(i int) string { return fmt.Sprintf("paged-%02d", i) }

// heldAt returns the names and versions of the ConfigMaps of a namespace at a version.
func heldAt(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, version string) (held []string) {
	t.Helper()
	for _, item := range exactList(ctx, t, controlPlane, namespace, version) {
		held = append(held, item.Name+" "+item.ResourceVersion)
	}
	return held
}

// exactList returns the ConfigMaps of a namespace at the API server at a version.
func exactList(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, version string) []corev1.ConfigMap {
	t.Helper()
	list, err := controlPlane.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestScenario11_ExpiredPageTokenIsReported continues a list at a replica that has
// started after the API server had compacted the list's version.
func TestScenario11_ExpiredPageTokenIsReported(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), forgetfulCluster(t)
	namespace, client := newNamespace(ctx, t, controlPlane), newClient(t, controlPlane)
	write := configMapsIn(ctx, t, controlPlane, namespace)
	write.create("one", nil)
	untilRead(ctx, t, client, "configmaps", write.create("two", nil))
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1}
	first, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	write.delete("two")
	untilForgotten(ctx, t, controlPlane, first.GetResourceVersion())
	later := newClient(t, controlPlane)
	request.PageToken = first.GetNextPageToken()
	_, err = later.List(ctx, request)
	wantError(t, err, connect.CodeOutOfRange, "list again from the first page")
	wantStatus(t, err, "Expired")
	if objects := listAll(ctx, t, client, request); len(objects) != 2 {
		t.Errorf("the replica that has the version returns %d more objects, want 2", len(objects))
	}
	request.PageToken = ""
	if objects := listAll(ctx, t, later, request); len(objects) != 2 {
		t.Errorf("a new list has %d objects, want 2", len(objects))
	}
}
