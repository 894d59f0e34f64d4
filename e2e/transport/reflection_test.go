package transport_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// describedServices are the services that reflection must describe.
var describedServices = slices.Sorted(slices.Values(append(slices.Clone(services), grpc_health_v1.Health_ServiceDesc.ServiceName)))

func TestTransport_ReflectionSupportsBothVersions(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, version := range []string{"v1", "v1alpha"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			described := openReflection(kit.Deadline(t), t, dialGRPC(t, service, nil), version)
			described.wantServices(describedServices)
			described.wantFile(kubeconnectv1connect.ResourceServiceName, "kubeconnect/v1/resource_service.proto")
		})
	}
}

// reflection is a stream of requests to one version of the reflection service. Both versions have
// the same messages.
type reflection struct {
	t      *testing.T
	stream grpc.ClientStream
}

func openReflection(ctx context.Context, t *testing.T, connection *grpc.ClientConn, version string) reflection {
	t.Helper()
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo")
	if err != nil {
		t.Fatal(err)
	}
	return reflection{t: t, stream: stream}
}

func (r reflection) ask(question *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
	r.t.Helper()
	if err := r.stream.SendMsg(question); err != nil {
		r.t.Fatal(err)
	}
	answer := new(reflectionv1.ServerReflectionResponse)
	if err := r.stream.RecvMsg(answer); err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func (r reflection) wantServices(want []string) {
	r.t.Helper()
	answer := r.ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	})
	var got []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		got = append(got, service.GetName())
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		r.t.Errorf("services %q, want %q", got, want)
	}
}

// wantFile fails the test unless a service is described by a file with this name.
func (r reflection) wantFile(service, want string) {
	r.t.Helper()
	answer := r.ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	})
	var got []string
	for _, content := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(content, file); err != nil {
			r.t.Fatal(err)
		}
		got = append(got, file.GetName())
	}
	if !slices.Contains(got, want) {
		r.t.Errorf("files of %s: %q, want %s among them", service, got, want)
	}
}
