package queries_test

import (
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestList_InvalidPageRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", nil)
	kit.UntilRead(ctx, t, client, "configmaps", write.Create("two", nil))
	query := func() *kubeconnectv1.ListRequest {
		return &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1}
	}
	first, err := client.List(ctx, query())
	if err != nil {
		t.Fatal(err)
	}
	if first.GetNextPageToken() == "" {
		t.Fatal("the first page of three has no token")
	}

	for name, change := range map[string]func(*kubeconnectv1.ListRequest){
		"a negative size":              func(r *kubeconnectv1.ListRequest) { r.PageSize = -1 },
		"an invalid token":             func(r *kubeconnectv1.ListRequest) { r.PageToken = "AQ" },
		"a truncated token":            func(r *kubeconnectv1.ListRequest) { r.PageToken = first.GetNextPageToken()[:20] },
		"a token of another namespace": func(r *kubeconnectv1.ListRequest) { r.PageToken, r.Namespace = first.GetNextPageToken(), "default" },
		"a token of another resource":  func(r *kubeconnectv1.ListRequest) { r.PageToken, r.Resource = first.GetNextPageToken(), "secrets" },
		"a token of another selection": func(r *kubeconnectv1.ListRequest) { r.PageToken, r.LabelSelector = first.GetNextPageToken(), "a=b" },
		"a token of another field selector": func(r *kubeconnectv1.ListRequest) {
			r.PageToken, r.FieldSelector = first.GetNextPageToken(), "metadata.name=one"
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := query()
			change(request)
			_, err := client.List(ctx, request)
			kit.WantError(t, err, connect.CodeInvalidArgument, "page_")
		})
	}
	t.Run("but the size can change from page to page", func(t *testing.T) {
		request := query()
		request.PageToken, request.PageSize = first.GetNextPageToken(), 10
		rest, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if len(rest.GetObjects()) != 2 || rest.GetNextPageToken() != "" || rest.GetRemainingItemCount() != 0 {
			t.Errorf("the rest has %d objects, %d remaining", len(rest.GetObjects()), rest.GetRemainingItemCount())
		}
	})
}
