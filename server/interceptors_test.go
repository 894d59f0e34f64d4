package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/grpcreflect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// TestInterceptors_NoHandlerRunsForUnknownCallers makes every call that needs a caller. The fake
// API server has no objects: a handler that runs would ask it, and fail.
func TestInterceptors_NoHandlerRunsForUnknownCallers(t *testing.T) {
	s := newService(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, &auth.ClusterAuthenticator{})
	ctx := t.Context()
	discovery := kubeconnectv1connect.NewDiscoveryServiceClient(s.client())
	access := kubeconnectv1connect.NewAccessServiceClient(s.client())
	for name, call := range map[string]func() error{
		"Get":    func() error { _, err := s.resources.Get(ctx, &kubeconnectv1.GetRequest{}); return err },
		"List":   func() error { _, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{}); return err },
		"Patch":  func() error { _, err := s.resources.Patch(ctx, &kubeconnectv1.PatchRequest{}); return err },
		"Create": func() error { _, err := s.resources.Create(ctx, &kubeconnectv1.CreateRequest{}); return err },
		"Update": func() error { _, err := s.resources.Update(ctx, &kubeconnectv1.UpdateRequest{}); return err },
		"Delete": func() error { _, err := s.resources.Delete(ctx, &kubeconnectv1.DeleteRequest{}); return err },
		"DeleteCollection": func() error {
			_, err := s.resources.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{})
			return err
		},
		"Watch": func() error {
			stream, err := responses.Of(s.resources.Watch(ctx, &kubeconnectv1.WatchRequest{}))
			if err != nil {
				return err
			}
			defer func() { _ = stream.Close() }()
			stream.Receive()
			return stream.Err()
		},
		"ListResourceTypes": func() error {
			_, err := discovery.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
			return err
		},
		"GetSchema":   func() error { _, err := discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{}); return err },
		"WhoAmI":      func() error { _, err := access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{}); return err },
		"CheckAccess": func() error { _, err := access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{}); return err },
		"GetLogs":     func() error { return openLog(t, s, &kubeconnectv1.GetLogsRequest{}).end() },
		"GetLogLines": func() error {
			stream, err := responses.Of(s.pods.GetLogLines(ctx, &kubeconnectv1.GetLogLinesRequest{}))
			if err != nil {
				return err
			}
			defer func() { _ = stream.Close() }()
			stream.Receive()
			return stream.Err()
		},
		"reflection": func() error {
			stream := grpcreflect.NewClient(s.client(connecthttp.WithGRPC())).NewStream(ctx)
			defer func() { _ = stream.Close() }()
			_, err := stream.ListServices()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := call()
			if connect.CodeOf(err) != connect.CodeUnauthenticated || statustest.Of(t, err).GetReason() != "Unauthorized" {
				t.Errorf("returned %v", err)
			}
		})
	}
}

func TestReflection_ListsEveryService(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	stream := grpcreflect.NewClient(s.client(connecthttp.WithGRPC())).NewStream(t.Context())
	defer func() { _ = stream.Close() }()
	names, err := stream.ListServices()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(serviceNames(), "grpc.health.v1.Health") {
		found := false
		for _, name := range names {
			found = found || string(name) == want
		}
		if !found {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
}

type authenticatorFunc func(http.Header) (auth.Identity, error)

func (f authenticatorFunc) Authenticate(_ context.Context, header http.Header) (auth.Identity, error) {
	return f(header)
}

func TestRequests_LargeOnesAreRejected(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	_, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: strings.Repeat("x", 256<<10+1)})
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("returned %v", err)
	}
}

func TestConsole_IsServedAtTheRoot(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	if status, body := fetch(t, s, "/"); status != http.StatusOK || body != "the console" {
		t.Errorf("returned %d, %s", status, body)
	}
}
