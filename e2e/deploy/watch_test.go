package deploy_test

import (
	"context"
	"errors"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// watching is a watch of the ConfigMaps of all namespaces.
type watching struct {
	stream *responses.Stream[kubeconnectv1.WatchResponse]
	events []*kubeconnectv1.Event // the last events received
}

// watch opens a watch and blocks until the first message.
func watch(ctx context.Context, client kubeconnectv1connect.ResourceServiceClient) (*watching, error) {
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps"}))
	if err != nil {
		return nil, err
	}
	w := &watching{stream: stream}
	return w, w.receive()
}

func (w *watching) receive() error {
	if !w.stream.Receive() {
		return errors.Join(errors.New("the stream ended"), w.stream.Err())
	}
	w.events = w.stream.Msg().GetEvents()
	return nil
}

// until blocks until an event of a type for an object of a namespace is received.
func (w *watching) until(kind kubeconnectv1.EventType, namespace string) error {
	for {
		for _, event := range w.events {
			if event.GetType() == kind && event.GetObject().GetNamespace() == namespace {
				return nil
			}
		}
		if err := w.receive(); err != nil {
			return err
		}
	}
}

// untilNotForbidden calls ask until it does not return a permission error: the service sees new
// permissions later than the API server.
func untilNotForbidden[A any](ctx context.Context, ask func() (A, error)) (answer A, err error) {
	waited := eventually(ctx, func() error {
		if answer, err = ask(); connect.CodeOf(err) == connect.CodePermissionDenied {
			return err
		}
		return nil
	})
	if waited != nil {
		err = waited
	}
	return answer, err
}
