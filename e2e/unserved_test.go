package e2e_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// What the API announces and this version does not serve: it must say so, and
// never act as if the field had not been set.

func TestFieldsThatAreNotServedYetAreRefusedByName(t *testing.T) {
	t.Parallel()
	ctx, client := deadline(t), newClient(t, cluster(t))
	get := func(change func(*kubeconnectv1.GetRequest)) func() error {
		request := &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"}
		change(request)
		return func() error { _, err := client.Get(ctx, request); return err }
	}
	list := func(change func(*kubeconnectv1.ListRequest)) func() error {
		request := &kubeconnectv1.ListRequest{Resource: "namespaces"}
		change(request)
		return func() error { _, err := client.List(ctx, request); return err }
	}
	watch := func(change func(*kubeconnectv1.WatchRequest)) func() error {
		request := &kubeconnectv1.WatchRequest{Resource: "namespaces"}
		change(request)
		return func() error { return watchError(ctx, client, request) }
	}
	for name, test := range map[string]struct {
		call func() error
		word string
	}{
		"metadata of Get":   {get(func(r *kubeconnectv1.GetRequest) { r.MetadataOnly = true }), "metadata_only"},
		"order_by of List":  {list(func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.name desc" }), "order_by"},
		"metadata of Watch": {watch(func(r *kubeconnectv1.WatchRequest) { r.MetadataOnly = true }), "metadata_only"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, test.call(), connect.CodeUnimplemented, test.word)
		})
	}
}

// method is a call of which only the error matters.
func method[Request, Response any](call func(context.Context, *Request) (*Response, error), request *Request) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, request)
		return err
	}
}
