package kit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// UncachedCalls returns calls that need the API server while nothing is cached.
func UncachedCalls(client ResourceClient, namespace string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Get":  ErrorOf(client.Get, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one"}),
		"List": ErrorOf(client.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}),
		"Watch": func(ctx context.Context) error {
			return WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
		},
		"Patch": ErrorOf(client.Patch, WithData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: "one", Type: MergePatch,
		}, `{"data":{"key":"changed"}}`)),
	}
}

// WantProbe fails the test unless a probe of the service returns a status.
func WantProbe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) {
	t.Helper()
	if err := Probe(ctx, t, service, path, want); err != nil {
		t.Error(err)
	}
}

// UntilProbe blocks until a probe of the service returns a status.
func UntilProbe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) {
	t.Helper()
	Eventually(ctx, t, path+" returns the expected status", func() error { return Probe(ctx, t, service, path, want) })
}

// Probe returns an error unless a probe of the service returns a status.
func Probe(ctx context.Context, t *testing.T, service *harness.Service, path string, want int) error {
	t.Helper()
	status, _, err := GetPath(ctx, t, service, path)
	if err == nil && status != want {
		err = fmt.Errorf("%s returned %d, want %d", path, status, want)
	}
	return err
}

// GetPath returns the status and the body of a path of the service.
func GetPath(ctx context.Context, t *testing.T, service *harness.Service, path string) (status int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.Address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := harness.OneCallConnections(t).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	bytes, err := io.ReadAll(response.Body)
	return response.StatusCode, string(bytes), err
}
