package server

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// WatchCounts implements kubeconnect.v1.ResourceService.
func (w *watches) WatchCounts(context.Context, *kubeconnectv1.WatchCountsRequest, *connect.ServerStream[kubeconnectv1.WatchCountsResponse]) error {
	return connect.NewError(connect.CodeUnimplemented, errors.New("WatchCounts is not implemented yet"))
}
