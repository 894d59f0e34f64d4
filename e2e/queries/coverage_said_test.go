package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// coverage is the part of a response that lists the namespaces it covers.
type coverage interface {
	GetNamespaces() []string
	GetWarnings() []string
}

// coverageCalls returns the reads that can cover only some namespaces, up to their first response.
func coverageCalls(client kit.ResourceClient, requireAll bool) map[string]func(context.Context) (coverage, error) {
	list := func(change func(*kubeconnectv1.ListRequest)) func(context.Context) (coverage, error) {
		return func(ctx context.Context) (coverage, error) {
			request := &kubeconnectv1.ListRequest{Resource: "configmaps", RequireAllNamespaces: requireAll}
			change(request)
			return client.List(ctx, request)
		}
	}
	watched := &kubeconnectv1.WatchRequest{Resource: "configmaps", RequireAllNamespaces: requireAll}
	return map[string]func(context.Context) (coverage, error){
		"list":       list(func(*kubeconnectv1.ListRequest) {}),
		"latest":     list(func(r *kubeconnectv1.ListRequest) { r.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST }),
		"first page": list(func(r *kubeconnectv1.ListRequest) { r.PageSize = 1 }),
		"metadata":   list(func(r *kubeconnectv1.ListRequest) { r.MetadataOnly = true }),
		"ordered":    list(func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.name" }),
		"filtered":   list(func(r *kubeconnectv1.ListRequest) { r.Filter = "has(object.metadata)" }),
		"count": func(ctx context.Context) (coverage, error) {
			return client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", RequireAllNamespaces: requireAll})
		},
		"watch": func(ctx context.Context) (coverage, error) {
			ctx, end := context.WithCancel(ctx)
			defer end()
			stream, err := responses.Of(client.Watch(ctx, watched))
			if err != nil {
				return nil, err
			}
			defer func() { _ = stream.Close() }()
			stream.Receive()
			return stream.Msg(), stream.Err()
		},
		"several watches": func(ctx context.Context) (coverage, error) {
			ctx, end := context.WithCancel(ctx)
			defer end()
			stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: harness.WatchSpecs(watched)}))
			if err != nil {
				return nil, err
			}
			defer func() { _ = stream.Close() }()
			stream.Receive()
			return stream.Msg().GetResponse(), stream.Err()
		},
	}
}

// TestScenario23_PartialResponsesNameTheirNamespaces tests a caller with permissions in two
// namespaces, and the cluster's administrator.
func TestScenario23_PartialResponsesNameTheirNamespaces(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t, "--write-as", "impersonate")
	admin := kit.NewClient(t, kit.Cluster(t))
	one, two, hidden := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, one, "reader"), Resource: "configmaps"}
	for _, namespace := range []string{one, two, hidden} {
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("mine", nil)
	}
	caller.Grant(one)
	caller.Grant(two)
	covered := slices.Sorted(slices.Values([]string{one, two}))
	want := "the answer covers 2 of the cluster's namespaces: " + strings.Join(covered, ", ") + "; you may not list"
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			client := caller.Calling(service, protocol).Resources
			kit.Eventually(ctx, t, "two namespaces are listed", func() error { return kit.ListsNamespaces(ctx, client, one, two) })
			for name, call := range coverageCalls(client, false) {
				answer, err := call(ctx)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				warnings := strings.Join(answer.GetWarnings(), "\n")
				if !slices.Equal(answer.GetNamespaces(), covered) || !strings.HasPrefix(warnings, want) || strings.Contains(warnings, hidden) {
					t.Errorf("%s: namespaces %q, warnings %q; want %q and %q", name, answer.GetNamespaces(), warnings, covered, want)
				}
			}
			for name, call := range coverageCalls(client, true) {
				_, err := call(ctx)
				kit.WantError(t, err, connect.CodePermissionDenied, fmt.Sprintf("User %q cannot list resource \"configmaps\"", caller.User()), "at the cluster scope")
				if t.Failed() {
					t.Fatalf("%s, with all namespaces required", name)
				}
			}
		})
	}
	for _, requireAll := range []bool{false, true} {
		for name, call := range coverageCalls(admin, requireAll) {
			if answer, err := call(ctx); err != nil || len(answer.GetNamespaces()) > 0 || len(answer.GetWarnings()) > 0 {
				t.Errorf("%s of all namespaces: %v, %v", name, answer, err)
			}
		}
	}
}

// TestScenario23_StreamsReportChangesOfTheirNamespaces grants and revokes a permission
// while a stream is open.
func TestScenario23_StreamsReportChangesOfTheirNamespaces(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	one, two := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, one, "reader"), Resource: "configmaps"}
	caller.Grant(one)
	client := caller.Calling(service, harness.Protocols[0]).Resources
	kit.Eventually(ctx, t, "one namespace is listed", func() error { return kit.ListsNamespaces(ctx, client, one) })
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	until := func(namespaces ...string) {
		t.Helper()
		for stream.Receive() {
			if stream.Msg().GetResource() == nil {
				continue
			}
			if got := stream.Msg().GetNamespaces(); !slices.Equal(got, slices.Sorted(slices.Values(namespaces))) {
				t.Fatalf("namespaces %q, want %q", got, namespaces)
			}
			return
		}
		t.Fatal(stream.Err())
	}
	until(one)
	caller.Grant(two)
	until(one, two)
	caller.Revoke(one)
	until(two)
}
