package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestUpstream_ServiceStartsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	before := configMapsIn(ctx, t, cluster(t), namespace).create("one", nil)
	link := harness.StartProxy(t, cluster(t).Address(), harness.Refused)
	service := harness.StartService(t, harness.KubeconfigTo(t, cluster(t).Kubeconfig, link.Address()))
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources

	wantProbe(ctx, t, service, "/livez", http.StatusOK)
	wantProbe(ctx, t, service, "/readyz", http.StatusServiceUnavailable)
	for name, call := range callsOn(client, namespace) {
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
	untilProbe(ctx, t, service, "/readyz", http.StatusOK)
	untilRead(ctx, t, client, "configmaps", before)
	for name, call := range callsOn(client, namespace) {
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
	wantError(t, err, connect.CodeUnavailable, "cannot reach the cluster's API server", words, "try again")
	wantStatus(t, err, "ServiceUnavailable")
	if err != nil && (strings.Contains(err.Error(), link.Address()) || strings.Contains(err.Error(), "127.0.0.1")) {
		t.Errorf("%q contains an address", err)
	}
}

// TestUpstream_WrongProtocolIsUnavailable makes the service use plain text with the API
// server, TLS with a server without it, and a port on which no server listens.
func TestUpstream_WrongProtocolIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	kubeconfig, err := os.ReadFile(cluster(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed := harness.StartProxy(t, cluster(t).Address(), harness.Refused)
	for name, test := range map[string]struct{ from, to, words string }{
		"plain text":      {"https://", "http://", "it speaks TLS, and the service does not"},
		"TLS":             {cluster(t).Address(), strings.TrimPrefix(plain.URL, "http://"), "it does not speak TLS"},
		"to another port": {cluster(t).Address(), closed.Address(), "the connection is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(kubeconfig), test.from, test.to)), 0o600); err != nil {
				t.Fatal(err)
			}
			client := harness.Dial(harness.HTTP2(t), harness.StartService(t, path).Address, harness.GRPC).Resources
			for _, call := range callsOn(client, "default") {
				wantAway(t, call(ctx), closed, test.words)
			}
		})
	}
}

// callsOn returns calls that need the API server while nothing is cached.
func callsOn(client resourceClient, namespace string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Get":  method(client.Get, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one"}),
		"List": method(client.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}),
		"Watch": func(ctx context.Context) error {
			return watchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
		},
		"Patch": method(client.Patch, withData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: "one", Type: mergePatch,
		}, `{"data":{"key":"changed"}}`)),
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
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	client, link := newClientBehindProxy(t, cluster(t), harness.None)
	one := write.create("one", nil)
	untilRead(ctx, t, client, "configmaps", one)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	stream.Synced(ctx)
	change := withData(&kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: "one", Type: mergePatch,
	}, `{"data":{"key":"changed"}}`)

	link.Set(fault)
	_, err := client.Patch(ctx, change)
	wantAway(t, err, link, "")
	wantStillThere(ctx, t, client, one.Namespace, one.ResourceVersion)
	late := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	late.Synced(ctx)
	wantSnapshot(t, late, added(one))
	wantUnchanged(t, write, one)

	link.Set(harness.None)
	touched := write.touch("one", "touched")
	wantChanges(t, stream.Reaches(ctx, touched.ResourceVersion), modified(touched))
	wantChanges(t, late.Reaches(ctx, touched.ResourceVersion), modified(touched))
	patched := patch(ctx, t, client, change)
	view := stream.Reaches(ctx, patched.GetObject().GetResourceVersion())
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
}

func TestUpstream_WatchConvergesAfterRepeatedCuts(t *testing.T) {
	t.Parallel()
	const cuts = 10
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	client, link := newClientBehindProxy(t, cluster(t), harness.None)
	untilRead(ctx, t, client, "configmaps", write.create("stays", nil))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)

	for i := range cuts {
		name := fmt.Sprintf("goes-%d", i)
		write.create(name, nil)
		link.Cut()
		write.touch("stays", name)
		write.delete(name)
	}

	view := untilHeld(ctx, stream, configMapVersions(ctx, t, namespace, ""))
	if view.Model.Resets != 1 {
		t.Errorf("%d resets, want one", view.Model.Resets)
	}
}

// wantStillThere lists the cached objects.
func wantStillThere(ctx context.Context, t *testing.T, client resourceClient, namespace, version string) {
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

func wantProbe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) {
	t.Helper()
	if err := probe(ctx, t, service, path, want); err != nil {
		t.Error(err)
	}
}

func untilProbe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) {
	t.Helper()
	eventually(ctx, t, path+" returns the expected status", func() error { return probe(ctx, t, service, path, want) })
}

func probe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) error {
	t.Helper()
	status, _, err := getPath(ctx, t, service, path)
	if err == nil && status != want {
		err = fmt.Errorf("%s returned %d, want %d", path, status, want)
	}
	return err
}

// getPath returns the status and the body of a path of the service.
func getPath(ctx context.Context, t *testing.T, service *harness.Service, path string) (status int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.Address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := harness.HTTP1(t).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	bytes, err := io.ReadAll(response.Body)
	return response.StatusCode, string(bytes), err
}
