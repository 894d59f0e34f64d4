package e2e_test

import (
	"context"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// listAll returns the objects of all pages, which must be of one snapshot and have correct
// remaining counts.
func listAll(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.ListRequest) []*kubeconnectv1.Object {
	t.Helper()
	objects, _ := listAllAt(ctx, t, client, request)
	return objects
}

// listAllAt is listAll, and also returns the version of the snapshot.
func listAllAt(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.ListRequest) (objects []*kubeconnectv1.Object, version string) {
	t.Helper()
	var total int64
	for {
		page, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, page.GetObjects()...)
		if version == "" {
			version, total = page.GetResourceVersion(), int64(len(objects))+page.GetRemaining()
		}
		if page.GetResourceVersion() != version || version == "" {
			t.Errorf("a page has version %q, the first page %q", page.GetResourceVersion(), version)
		}
		if got := int64(len(objects)) + page.GetRemaining(); got != total {
			t.Errorf("remaining after %d objects: %d, total %d", len(objects), page.GetRemaining(), total)
		}
		if page.GetNextPageToken() == "" {
			break
		}
		request.PageToken = page.GetNextPageToken()
	}
	if int64(len(objects)) != total {
		t.Errorf("%d objects on all pages, the first page announced %d", len(objects), total)
	}
	return objects, version
}
