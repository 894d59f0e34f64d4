package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestUpstream_ServiceStartsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	before := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.Refused)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources

	kit.WantProbe(ctx, t, service, "/livez", http.StatusOK)
	kit.WantProbe(ctx, t, service, "/readyz", http.StatusServiceUnavailable)
	for name, call := range kit.UncachedCalls(client, namespace) {
		t.Run(name+" reports that the API server is unreachable", func(t *testing.T) {
			wantAway(t, call(ctx), link, "the connection is refused")
		})
	}
	if _, err := service.UntilPrints(ctx, func(line string) bool {
		return strings.Contains(line, "cannot be reached") && strings.Contains(line, link.Address())
	}); err != nil {
		t.Errorf("the log does not name the unreachable API server: %v", err)
	}

	link.Set(harness.None)
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	kit.UntilRead(ctx, t, client, "configmaps", before)
	for name, call := range kit.UncachedCalls(client, namespace) {
		t.Run(name+" succeeds when it is reachable", func(t *testing.T) {
			if err := call(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantAway fails the test unless an error reports that the API server is unreachable, without its
// address, which is internal to the cluster.
func wantAway(t *testing.T, err error, link *harness.Proxy, words string) {
	t.Helper()
	kit.WantError(t, err, connect.CodeUnavailable, "cannot reach the cluster's API server", words, "try again")
	kit.WantStatus(t, err, "ServiceUnavailable")
	if err != nil && (strings.Contains(err.Error(), link.Address()) || strings.Contains(err.Error(), "127.0.0.1")) {
		t.Errorf("%q contains an address", err)
	}
}

// TestUpstream_WrongProtocolIsUnavailable makes the service use plain text with the API
// server, TLS with a server without it, and a port on which no server listens.
func TestUpstream_WrongProtocolIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	kubeconfig, err := os.ReadFile(kit.Cluster(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed := harness.StartProxy(t, kit.Cluster(t).Address(), harness.Refused)
	for name, test := range map[string]struct{ from, to, words string }{
		"plain text":      {"https://", "http://", "it speaks TLS, and the service does not"},
		"TLS":             {kit.Cluster(t).Address(), strings.TrimPrefix(plain.URL, "http://"), "it does not speak TLS"},
		"to another port": {kit.Cluster(t).Address(), closed.Address(), "the connection is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(kubeconfig), test.from, test.to)), 0o600); err != nil {
				t.Fatal(err)
			}
			client := harness.Dial(harness.HTTP2(t), harness.StartService(t, path).Address, harness.GRPC).Resources
			for _, call := range kit.UncachedCalls(client, "default") {
				wantAway(t, call(ctx), closed, test.words)
			}
		})
	}
}

func TestUpstream_OutageKeepsCachedReadsAndWatches(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]harness.Fault{
		"when it refuses connections":            harness.Refused,
		"when a load balancer drops connections": harness.Dropped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseUpstream(t, fault)
		})
	}
}

func loseUpstream(t *testing.T, fault harness.Fault) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	one := write.Create("one", nil)
	kit.UntilRead(ctx, t, client, "configmaps", one)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	stream.Synced(ctx)
	change := kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one", Type: kit.MergePatch,
	}, `{"data":{"key":"changed"}}`)

	link.Set(fault)
	_, err := client.Patch(ctx, change)
	wantAway(t, err, link, "")
	wantStillThere(ctx, t, client, one.Namespace, one.ResourceVersion)
	late := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	late.Synced(ctx)
	kit.WantSnapshot(t, late, kit.Added(one))
	kit.WantUnchanged(t, write, one)

	link.Set(harness.None)
	touched := write.Touch("one", "touched")
	kit.WantChanges(t, stream.Reaches(ctx, touched.ResourceVersion), kit.Modified(touched))
	kit.WantChanges(t, late.Reaches(ctx, touched.ResourceVersion), kit.Modified(touched))
	patched := kit.Patch(ctx, t, client, change)
	view := stream.Reaches(ctx, patched.GetObject().GetResourceVersion())
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
}

func TestUpstream_WatchConvergesAfterRepeatedCuts(t *testing.T) {
	t.Parallel()
	const cuts = 10
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("stays", nil))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	for i := range cuts {
		name := fmt.Sprintf("goes-%d", i)
		write.Create(name, nil)
		link.Cut()
		write.Touch("stays", name)
		write.Delete(name)
	}

	view := kit.UntilHeld(ctx, stream, kit.ConfigMapVersions(ctx, t, namespace, ""))
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
}

// wantStillThere lists the cached objects.
func wantStillThere(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, version string) {
	t.Helper()
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name=one",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.GetObjects()) != 1 || list.GetObjects()[0].GetResourceVersion() != version {
		t.Errorf("list %v", list.GetObjects())
	}
}
