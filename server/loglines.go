package server

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// GetLogLines implements kubeconnect.v1.PodService.
func (p *pods) GetLogLines(context.Context, *kubeconnectv1.GetLogLinesRequest, *connect.ServerStream[kubeconnectv1.GetLogLinesResponse]) error {
	return connect.NewError(connect.CodeUnimplemented, errors.New("GetLogLines is not implemented yet"))
}
