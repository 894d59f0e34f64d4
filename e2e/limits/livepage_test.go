package limits_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// sortedObjects have keys of sortedKey bytes, so that few orders of them need much memory.
	sortedObjects = 1_000
	sortedKey     = 10_000
	// sortedOrders is more orders than a caller has memory for, and fewer than it may have streams.
	sortedOrders = 1_900
	// unreadChanges is the number of changes of unreadObject bytes while a page is not read.
	unreadChanges = 60
	unreadObject  = 200_000
)

// orderedPage requests a page in an order of its own.
func orderedPage(namespace string, order int) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, Limit: 2, Fields: []string{"metadata.name"},
		OrderBy: fmt.Sprintf("data.key desc, metadata.labels.l%d", order),
	}
}

// TestLivePage_OrdersOfOneCallerAreBounded watches pages in ever more orders until one is rejected.
// Open pages continue, and other callers are not affected.
func TestLivePage_OrdersOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createSorted(ctx, t, namespace)
	service := kit.StartForCallers(t)
	client := map[string]kit.ResourceClient{}
	for _, name := range []string{"greedy", "other"} {
		account := kit.NewAccount(ctx, t, namespace, name)
		account.GrantIn(namespace, name, kit.Rule("configmaps", "get", "list", "watch"))
		client[name] = account.Calling(service, harness.GRPC).Resources
		kit.Eventually(ctx, t, "the permissions are effective", func() error {
			_, err := client[name].List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1})
			return err
		})
	}
	first := record.WatchPage(t, client["greedy"], orderedPage(namespace, 0), validate.Page{})
	first.Until(ctx, "the first page is complete", func(view *record.PageView) bool { return view.Synced })
	watching, leave := context.WithCancel(ctx)
	defer leave()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer leave()
	var refused error
	open := 0
	for ; refused == nil && open < sortedOrders; open++ {
		refused = openPage(watching, &reading, client["greedy"], orderedPage(namespace, open+1))
	}
	kit.WantError(t, refused, connect.CodeResourceExhausted)
	t.Logf("after %d orders: %v", open, refused)
	if _, err := client["greedy"].List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1}); err != nil {
		t.Errorf("a list of the greedy caller: %v", err)
	}
	others := record.WatchPage(t, client["other"], orderedPage(namespace, sortedOrders+1), validate.Page{})
	last := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Patch("sorted-0500", map[string]any{"data": map[string]any{"key": "z"}})
	for name, stream := range map[string]*record.PageStream{"the first page": first, "the page of another caller": others} {
		stream.Until(ctx, name+" has the new first object", func(view *record.PageView) bool {
			return view.Synced && len(view.Objects) == 2 && view.Objects[0].GetUid() == string(last.UID)
		})
	}
	leave()
	kit.Eventually(ctx, t, "the caller has memory again", func() error {
		return kit.WatchError(ctx, client["greedy"], orderedPage(namespace, sortedOrders+2))
	})
}

// createSorted creates objects with long keys, concurrently.
func createSorted(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	api := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace)
	var creating sync.WaitGroup
	for creator := range 8 {
		creating.Go(func() {
			for i := creator; i < sortedObjects; i += 8 {
				object := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sorted-%04d", i)},
					Data:       map[string]string{"key": strings.Repeat("x", sortedKey) + fmt.Sprint(i)},
				}
				if _, err := api.Create(ctx, object, metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
}

// openPage opens a page, and reads it after the first state until ctx ends.
func openPage(ctx context.Context, reading *sync.WaitGroup, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) error {
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		return err
	}
	for stream.Receive() {
		if stream.Msg().GetPage() == nil {
			continue
		}
		reading.Go(func() {
			for stream.Receive() {
			}
			_ = stream.Close()
		})
		return nil
	}
	defer stream.Close()
	return stream.Err()
}

// TestLivePage_OfASlowReaderSkipsStates changes large objects of a page that is not read: the reader
// gets the last page afterwards, and fewer states than there were changes.
func TestLivePage_OfASlowReaderSkipsStates(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		write.Create(name, kit.Labels{"rank": "0"})
	}
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "rank", OrderBy: "metadata.labels.rank desc", Limit: 3}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var last *corev1.ConfigMap
	for i := range unreadChanges {
		last = write.Patch(names[i%3], map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"rank": fmt.Sprint(i + 1)}},
			"data":     map[string]any{"large": strings.Repeat("x", unreadObject) + fmt.Sprint(i)},
		})
	}
	var page validate.Page
	states := 0
	for len(page.Objects) == 0 || page.Objects[0].GetResourceVersion() != last.ResourceVersion {
		if !stream.Receive() {
			t.Fatalf("the stream ended after %d states: %v", states, stream.Err())
		}
		response := validate.ResponseOf(stream.Msg())
		if problems := page.Read(&response); len(problems) > 0 {
			t.Errorf("%q", problems)
		}
		if response.Page != nil {
			states++
		}
	}
	if got := strings.Join(kit.NamesOf(page.Objects), ""); got != "cba" || states >= unreadChanges {
		t.Errorf("after %d changes and %d states the page is %q", unreadChanges, states, got)
	}
}
