package limits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const adminToken = "the-token-of-administrators"

// adminState is the part of /admin/state.json that the test needs.
type adminState struct {
	Callers   []adminCaller
	OpenCalls []adminCall
	Caches    []adminCache
	Settings  map[string]string
}

type adminCaller struct {
	Caller      string
	OpenStreams int
	Total       struct{ Failed, Bytes, ProcessorSeconds float64 }
}

type adminCall struct {
	Caller, Procedure, Resource, Namespace, RequestID string
	IsStream                                          bool
}

type adminCache struct {
	Resource string
	Watches  int
}

func adminOf(ctx context.Context, t *testing.T, service *harness.Service) (state adminState) {
	t.Helper()
	url := strings.TrimSuffix(kit.MetricsURL(ctx, t, service), "/metrics") + "/admin/state.json"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := harness.OneCallConnections(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return state
}

// TestAdmin_ShowsWhoReadsWhat has one caller watch, and another one be denied.
func TestAdmin_ShowsWhoReadsWhat(t *testing.T) {
	t.Parallel()
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(adminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, service := kit.Deadline(t), kit.StartForCallers(t, slices.Concat(kit.MetricsFlags, []string{"--admin-token-file", tokenFile})...)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	reader, stranger := kit.NewAccount(ctx, t, namespace, "reader"), kit.NewAccount(ctx, t, namespace, "stranger")
	reader.GrantIn(namespace, "reader", kit.Rule("configmaps", "list", "watch"))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	stream, err := responses.Of(reader.Calling(service, harness.Connect).Resources.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	kit.WantError(t, kit.WatchError(ctx, stranger.Calling(service, harness.GRPC).Resources, request), connect.CodePermissionDenied)

	kit.Eventually(ctx, t, "both callers are shown", func() error {
		return adminOf(ctx, t, service).differs(reader, stranger, namespace)
	})
	if shown := adminOf(ctx, t, service).Settings["admin-token-file"]; shown != tokenFile {
		t.Errorf("--admin-token-file is %q", shown)
	}
}

// differs returns what is missing of a watch of the reader, and a failed one of the stranger.
func (s adminState) differs(reader, stranger kit.Account, namespace string) error {
	var problems []error
	want := func(holds bool, what string) {
		if !holds {
			problems = append(problems, fmt.Errorf("%s: %+v", what, s))
		}
	}
	want(slices.ContainsFunc(s.Callers, func(c adminCaller) bool {
		return c.Caller == reader.User() && c.OpenStreams == 1 && c.Total.Bytes > 0 && c.Total.ProcessorSeconds > 0
	}), "the reader has a stream, and has used a processor")
	want(slices.ContainsFunc(s.Callers, func(c adminCaller) bool {
		return c.Caller == stranger.User() && c.OpenStreams == 0 && c.Total.Failed >= 1
	}), "the stranger has failed")
	want(slices.ContainsFunc(s.OpenCalls, func(c adminCall) bool {
		return c.Caller == reader.User() && c.Procedure == "ResourceService/Watch" && c.Resource == "configmaps.v1" && c.Namespace == namespace && c.IsStream && c.RequestID != ""
	}), "the open watch")
	want(slices.ContainsFunc(s.Caches, func(c adminCache) bool { return c.Resource == "configmaps.v1" && c.Watches == 1 }), "the cache")
	return errors.Join(problems...)
}
