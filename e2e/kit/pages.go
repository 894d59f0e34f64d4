package kit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// MaxPages ends a walk that has no end.
const MaxPages = 500

// WalkPages returns the objects of all pages of a list, each page from the next of the clients,
// and calls between before each page but the first. It fails the test unless the pages have one
// version, no page is too long, and the remaining counts agree.
func WalkPages(ctx context.Context, t *testing.T, clients []ResourceClient, request *kubeconnectv1.ListRequest, between func(page int, last *kubeconnectv1.ListResponse)) (objects []*kubeconnectv1.Object) {
	t.Helper()
	request = proto.CloneOf(request)
	var first *kubeconnectv1.ListResponse
	for i := range MaxPages {
		page, err := clients[i%len(clients)].List(ctx, request)
		if err != nil {
			t.Errorf("page %d: %v", i+1, err)
			return objects
		}
		if first == nil {
			first = page
		}
		objects = append(objects, page.GetObjects()...)
		checkPage(t, i+1, first, page, len(objects), int(request.GetPageSize()))
		if page.GetNextPageToken() == "" {
			return objects
		}
		request.PageToken = page.GetNextPageToken()
		if between != nil {
			between(i+1, page)
		}
	}
	t.Errorf("the list has no end")
	return objects
}

func checkPage(t *testing.T, number int, first, page *kubeconnectv1.ListResponse, seen, size int) {
	t.Helper()
	total := int64(len(first.GetObjects())) + first.GetRemainingItemCount()
	if page.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("page %d is at version %q, the first at %q", number, page.GetResourceVersion(), first.GetResourceVersion())
	}
	if int64(seen)+page.GetRemainingItemCount() != total {
		t.Errorf("page %d: %d seen and %d remain, of %d", number, seen, page.GetRemainingItemCount(), total)
	}
	if size > 0 && len(page.GetObjects()) > size {
		t.Errorf("page %d has %d objects, more than %d", number, len(page.GetObjects()), size)
	}
	if (page.GetNextPageToken() == "") != (page.GetRemainingItemCount() == 0) {
		t.Errorf("page %d: %d remain, and the next page's token is %q", number, page.GetRemainingItemCount(), page.GetNextPageToken())
	}
	if !proto.Equal(page.GetResource(), first.GetResource()) {
		t.Errorf("page %d is of %v, the first of %v", number, page.GetResource(), first.GetResource())
	}
	if !slices.Equal(page.GetNamespaces(), first.GetNamespaces()) {
		t.Errorf("page %d covers %v, the first %v", number, page.GetNamespaces(), first.GetNamespaces())
	}
	if page.GetFreshness() == nil && page.GetSource() == kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("page %d does not say how current it is", number)
	}
}

// IsExpired reports whether an error says that a list is to begin from its first page.
func IsExpired(err error) bool {
	return connect.CodeOf(err) == connect.CodeOutOfRange && StatusIn(err).GetReason() == "Expired"
}

// WantExpiredPage fails the test unless a page was refused because its token has expired.
func WantExpiredPage(t *testing.T, page *kubeconnectv1.ListResponse, err error) {
	t.Helper()
	if !IsExpired(err) {
		t.Errorf("got %v and %v with status %v, want OUT_OF_RANGE with the reason Expired", NamesOf(page.GetObjects()), err, StatusIn(err))
	}
}

// WithPageSize sets the page size of a request and returns the request.
func WithPageSize(request *kubeconnectv1.ListRequest, size int32) *kubeconnectv1.ListRequest {
	request = proto.CloneOf(request)
	request.PageSize = size
	return request
}

// ListAll returns the objects of all pages, which must be of one snapshot and have correct
// remaining counts.
func ListAll(ctx context.Context, t *testing.T, client ResourceClient, request *kubeconnectv1.ListRequest) []*kubeconnectv1.Object {
	t.Helper()
	objects, _ := ListAllAt(ctx, t, client, request)
	return objects
}

// ListAllAt is ListAll, and also returns the version of the snapshot.
func ListAllAt(ctx context.Context, t *testing.T, client ResourceClient, request *kubeconnectv1.ListRequest) (objects []*kubeconnectv1.Object, version string) {
	t.Helper()
	var total int64
	for {
		page, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, page.GetObjects()...)
		if version == "" {
			version, total = page.GetResourceVersion(), int64(len(objects))+page.GetRemainingItemCount()
		}
		if page.GetResourceVersion() != version || version == "" {
			t.Errorf("a page has version %q, the first page %q", page.GetResourceVersion(), version)
		}
		if got := int64(len(objects)) + page.GetRemainingItemCount(); got != total {
			t.Errorf("remaining after %d objects: %d, total %d", len(objects), page.GetRemainingItemCount(), total)
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

// PagedCount is the number of listed objects, in pages of PagedSize.
const (
	PagedCount = 60
	PagedSize  = 7
)

// PagedName returns the name of a ConfigMap of the tests of pages.
func PagedName(i int) string { return fmt.Sprintf("paged-%02d", i) }

// HeldAt returns the names and versions of the ConfigMaps of a namespace at a version.
func HeldAt(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, version string) (held []string) {
	t.Helper()
	for _, item := range ListAtVersion(ctx, t, controlPlane, namespace, version) {
		held = append(held, item.Name+" "+item.ResourceVersion)
	}
	return held
}

// ListAtVersion returns the ConfigMaps of a namespace at the API server at a version.
func ListAtVersion(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, version string) []corev1.ConfigMap {
	t.Helper()
	list, err := controlPlane.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
