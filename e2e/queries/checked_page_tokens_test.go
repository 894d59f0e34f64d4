package queries_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// "everything else in the request except page_size and require_all_namespaces must be as it was, or
// the answer is INVALID_ARGUMENT."
func TestChecked_PageTokenIsRejectedForAnotherList(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 6)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	changes := map[string]func(*kubeconnectv1.ListRequest){
		"resource":        func(r *kubeconnectv1.ListRequest) { r.Resource = "configmaps" },
		"namespace":       func(r *kubeconnectv1.ListRequest) { r.Namespace = "default" },
		"all namespaces":  func(r *kubeconnectv1.ListRequest) { r.Namespace = "" },
		"labels":          func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "app=db" },
		"no labels":       func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "" },
		"fields selector": func(r *kubeconnectv1.ListRequest) { r.FieldSelector = "metadata.name!=p-03" },
		"filter":          func(r *kubeconnectv1.ListRequest) { r.Filter = "true" },
		"fields":          func(r *kubeconnectv1.ListRequest) { r.Fields = []string{"metadata.name"} },
		"encoding":        func(r *kubeconnectv1.ListRequest) { r.Encoding = kubeconnectv1.Encoding_ENCODING_PROTOBUF },
		"version":         func(r *kubeconnectv1.ListRequest) { r.MinResourceVersion = "1" },
		"no version":      func(r *kubeconnectv1.ListRequest) { r.MinResourceVersion = "" },
		"consistency":     func(r *kubeconnectv1.ListRequest) { r.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST },
		"order":           func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.name desc" },
		"metadata":        func(r *kubeconnectv1.ListRequest) { r.MetadataOnly = true },
		"related": func(r *kubeconnectv1.ListRequest) {
			r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner"}
		},
	}
	for kind, before := range map[string]func(*kubeconnectv1.ListRequest){
		"plain":   func(*kubeconnectv1.ListRequest) {},
		"ordered": func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.labels.rank" },
		"latest": func(r *kubeconnectv1.ListRequest) {
			r.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST
		},
	} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2, MinResourceVersion: s.Last}
		before(request)
		page, err := clients[0].List(ctx, request)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		request.PageToken = page.GetNextPageToken()
		for name, change := range changes {
			for i, client := range clients {
				other := proto.CloneOf(request)
				change(other)
				if proto.Equal(other, request) {
					continue
				}
				answer, err := client.List(ctx, other)
				if connect.CodeOf(err) != connect.CodeInvalidArgument {
					t.Errorf("%s, another %s, replica %d: %v, %v; want INVALID_ARGUMENT", kind, name, i, kit.NamesOf(answer.GetObjects()), err)
				}
			}
		}
		request.RequireAllNamespaces = true
		if _, err := clients[1].List(ctx, request); err != nil {
			t.Errorf("%s with require_all_namespaces: %v", kind, err)
		}
	}
}

// Tokens that were cut, changed, or given out for something else do no harm.
func TestChecked_InvalidPageTokensAreRejected(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 6)
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	for _, order := range []string{"", "metadata.labels.rank desc"} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2, MinResourceVersion: s.Last, OrderBy: order}
		page, err := client.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		token := page.GetNextPageToken()
		tokens := []string{"x", "====", strings.Repeat("A", 1000), token + token, token + "A", " " + token, token[1:]}
		for i := range token {
			tokens = append(tokens, token[:i], token[:i]+string(rune(token[i]^1))+token[i+1:])
		}
		for _, made := range tokens[:] {
			if made == "" {
				continue
			}
			request.PageToken = made
			answer, err := client.List(ctx, request)
			switch connect.CodeOf(err) {
			case connect.CodeInvalidArgument, connect.CodeOutOfRange:
			default:
				if err == nil {
					t.Logf("accepted: %q for %q answers %v", made, token, kit.NamesOf(answer.GetObjects()))
					continue
				}
				t.Errorf("%q for %q: %v", made, token, err)
			}
		}
		table, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		request.PageToken = table.GetNextPageToken()
		_, err = client.List(ctx, request) // the token is the API server's, and can look like one of a later version
		if code := connect.CodeOf(err); code != connect.CodeInvalidArgument && code != connect.CodeOutOfRange {
			t.Errorf("a list with a table's token: %v", err)
		}
		_, err = client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2, PageToken: token})
		if code := connect.CodeOf(err); code != connect.CodeInvalidArgument && code != connect.CodeOutOfRange {
			t.Errorf("a table with a list's token: %v", err)
		}
	}
}
