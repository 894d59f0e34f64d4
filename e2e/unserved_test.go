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
	list := func(change func(*kubeconnectv1.ListRequest)) func() error {
		request := &kubeconnectv1.ListRequest{Resource: "namespaces"}
		change(request)
		return func() error { _, err := client.List(ctx, request); return err }
	}
	for name, test := range map[string]struct {
		call func() error
		word string
	}{
		"order_by of List": {list(func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.name desc" }), "order_by"},
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
