package faults_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// startsOfAPIServer is the number of times that the API server is killed and starts again.
	startsOfAPIServer = 4
	// callersAtStart is the number of callers, of which each has a watch and calls at short intervals: one of their reviews is then sent
	// while the API server starts.
	callersAtStart = 12
)

// TestAPIServerStart_DeniesNobody kills the API server again and again. For a moment after its start it denies what it allows later,
// because it does not know roles and bindings yet. No call and no stream of a caller with permission may end with a denial.
func TestAPIServerStart_DeniesNobody(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	controlPlane, err := harness.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controlPlane.Stop)
	service := harness.StartService(t, controlPlane.Kubeconfig, "--auth", "cluster", "--recheck-interval", "1s")
	var denied atomic.Int64
	note := func(what string, err error) {
		if connect.CodeOf(err) == connect.CodePermissionDenied && ctx.Err() == nil {
			if denied.Add(1) <= 3 {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for i := range callersAtStart {
		name := fmt.Sprint("reader-", i)
		client := kit.CallingWith(t, service, harness.Connect, readerOf(ctx, t, controlPlane, name)).Resources
		kit.Eventually(ctx, t, name+" can read", func() error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"})
			return err
		})
		go followUntil(ctx, client, func(err error) { note("a watch of "+name, err) })
		go callUntil(ctx, client, func(err error) { note("a list of "+name, err) })
	}
	for range startsOfAPIServer {
		kit.Kill(ctx, t, controlPlane, controlPlane.APIServer())
		time.Sleep(3 * time.Second) // a denial would be cached for longer
	}
}

// readerOf creates a service account that can read the ConfigMaps of the default namespace, and returns its token.
func readerOf(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, name string) (token string) {
	t.Helper()
	token = kit.NewToken(ctx, t, controlPlane, "default", name)
	_, err := controlPlane.Client.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// followUntil watches, again and again, until the context is done.
func followUntil(ctx context.Context, client kit.ResourceClient, ended func(error)) {
	for ctx.Err() == nil {
		stream, err := client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: "default"})
		for err == nil {
			_, err = stream.Receive()
		}
		ended(err)
		time.Sleep(kit.PollInterval)
	}
}

// callUntil lists, again and again, until the context is done.
func callUntil(ctx context.Context, client kit.ResourceClient, ended func(error)) {
	for ctx.Err() == nil {
		if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}); err != nil {
			ended(err)
		}
		time.Sleep(kit.PollInterval)
	}
}
