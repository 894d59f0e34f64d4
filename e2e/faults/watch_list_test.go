package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// swallowed is a bookmark that a proxy does not forward.
func swallowed(context.Context) bool { return false }

const (
	unfinishedWatchLists = "kubeconnect_unfinished_watch_lists_total{}"
	listedInstead        = "the resource is listed instead"
)

// TestWatchList_WithoutItsBookmarkIsReplacedByAList has a proxy that swallows the bookmarks that complete watch-lists. The cache is evicted, and
// starts again: then the resource is listed at once. No other test writes Secrets: a watch-list with changes is given more time.
func TestWatchList_WithoutItsBookmarkIsReplacedByAList(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.SecretsIn(t, namespace)
	one := created(write.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{}))(t)
	proxy := harness.StartBookmarkProxy(t, kit.Cluster(t), swallowed)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, proxy.Address()),
		append(kit.MetricsFlags, "--cache-idle-timeout", "10s")...)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources

	kit.UntilRead(ctx, t, client, "secrets", one)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace, Name: "one"})
	stream.Synced(ctx)
	kit.WantSnapshot(t, stream, kit.Added(one))
	one.Labels = map[string]string{"touched": "yes"}
	touched := created(write.Update(ctx, one, metav1.UpdateOptions{}))(t)
	kit.WantChanges(t, stream.Reaches(ctx, touched.ResourceVersion), kit.Modified(touched))
	stream.Close()

	kit.Eventually(ctx, t, "the cache is evicted", func() error {
		if kit.ScrapeOf(ctx, t, service).Series["kubeconnect_caches_evicted_total{}"] == 0 {
			return errors.New("it is used")
		}
		return nil
	})
	kit.UntilRead(ctx, t, client, "secrets", touched)
	if requests := proxy.Requests("watch-list", "secrets"); requests != 1 {
		t.Errorf("%d watch-lists were requested, want one", requests)
	}
	if lines := strings.Count(service.Output(), listedInstead); lines != 1 {
		t.Errorf("the log has %d lines about it, want one", lines)
	}
	if ended := kit.ScrapeOf(ctx, t, service).Series[unfinishedWatchLists]; ended != 1 {
		t.Errorf("the metric is %v, want 1", ended)
	}
}

// created returns a Secret that was written without an error.
func created(secret *corev1.Secret, err error) func(*testing.T) *corev1.Secret {
	return func(t *testing.T) *corev1.Secret {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
}

// TestWatchList_CanBeCompletedLate has a proxy that delays the bookmarks that complete watch-lists.
func TestWatchList_CanBeCompletedLate(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	one := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	proxy := harness.StartBookmarkProxy(t, kit.Cluster(t), func(ctx context.Context) bool {
		kit.Last(ctx, 2*time.Second)
		return true
	})
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, proxy.Address()), kit.MetricsFlags...)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources

	kit.UntilRead(ctx, t, client, "configmaps", one)
	if lists, watchLists := proxy.Requests("list", "configmaps"), proxy.Requests("watch-list", "configmaps"); lists != 0 || watchLists != 1 {
		t.Errorf("there were %d lists and %d watch-lists, want one watch-list", lists, watchLists)
	}
	if ended := kit.ScrapeOf(ctx, t, service).Series[unfinishedWatchLists]; ended != 0 {
		t.Errorf("%v watch-lists were ended", ended)
	}
}

// TestWatchList_OfRolesWithoutItsBookmarkIsReplacedByAList has a caller with a role in one namespace read all namespaces. For that the service
// follows the roles and bindings.
func TestWatchList_OfRolesWithoutItsBookmarkIsReplacedByAList(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	proxy := harness.StartBookmarkProxy(t, kit.Cluster(t), swallowed)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, proxy.Address()), "--auth", "cluster")
	client := kit.CallingWith(t, service, harness.Connect, readerOf(ctx, t, kit.Cluster(t), "reader-through-a-proxy")).Resources
	kit.Eventually(ctx, t, "the caller can read all namespaces", func() error {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		return err
	})
	if !strings.Contains(service.Output(), `resource="rolebindings`) && !strings.Contains(service.Output(), "resource=rolebindings") {
		t.Error("the log does not say that bindings of roles are listed")
	}
}
