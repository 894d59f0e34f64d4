package permissions_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

func TestAuthCluster_EveryMethodRejectsUnknownCallers(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster")
	for callerName, headers := range map[string]http.Header{
		"without a token":      {},
		"with a token":         {"Authorization": {"Bearer token"}},
		"impersonating others": {"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"}},
	} {
		httpClient := harness.HTTP2(t)
		httpClient.Transport = kit.HeaderTransport{Headers: headers, Base: httpClient.Transport}
		for _, protocol := range harness.Protocols {
			for name, call := range everyMethod(t, harness.Dial(httpClient, service.Address, protocol), namespace) {
				t.Run(callerName+" by "+protocol.Name+" "+name, func(t *testing.T) {
					kit.WantError(t, call(ctx), connect.CodeUnauthenticated)
				})
			}
		}
	}
	kit.WantUnchanged(t, write, before)
}

// everyMethod returns a call of each method of the API, which a caller with permissions is allowed
// to make. It fails the test if the API has another method.
func everyMethod(t *testing.T, clients harness.Clients, namespace string) map[string]func(context.Context) error {
	t.Helper()
	calls, resources := kit.UncachedCalls(clients.Resources, namespace), clients.Resources
	calls["Create"] = kit.ErrorOf(resources.Create, &kubeconnectv1.CreateRequest{
		Resource: "configmaps", Namespace: namespace, Body: &kubeconnectv1.CreateRequest_Data{Data: []byte(`{"metadata":{"generateName":"made-"}}`)},
	})
	calls["Update"] = kit.ErrorOf(resources.Update, &kubeconnectv1.UpdateRequest{
		Resource: "configmaps", Namespace: namespace, Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(`{"metadata":{"name":"one"}}`)},
	})
	calls["Delete"] = kit.ErrorOf(resources.Delete, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	calls["DeleteCollection"] = kit.ErrorOf(resources.DeleteCollection, &kubeconnectv1.DeleteCollectionRequest{Resource: "configmaps", Namespace: namespace})
	calls["Count"] = kit.ErrorOf(resources.Count, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: namespace})
	calls["GetTable"] = kit.ErrorOf(resources.GetTable, &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace})
	calls["ListResourceTypes"] = kit.ErrorOf(clients.Discovery.ListResourceTypes, &kubeconnectv1.ListResourceTypesRequest{})
	calls["GetSchema"] = kit.ErrorOf(clients.Discovery.GetSchema, &kubeconnectv1.GetSchemaRequest{Resource: "configmaps"})
	calls["WhoAmI"] = kit.ErrorOf(clients.Access.WhoAmI, &kubeconnectv1.WhoAmIRequest{})
	calls["CheckAccess"] = kit.ErrorOf(clients.Access.CheckAccess, &kubeconnectv1.CheckAccessRequest{})
	calls["WatchMany"] = func(ctx context.Context) error {
		stream, err := responses.Of(resources.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "configmaps", Namespace: namespace}}}))
		if err != nil {
			return err
		}
		defer stream.Close()
		stream.Receive()
		return stream.Err()
	}
	calls["WatchCounts"] = func(ctx context.Context) error {
		stream, err := responses.Of(resources.WatchCounts(ctx, &kubeconnectv1.WatchCountsRequest{Resource: "configmaps", Namespace: namespace}))
		if err != nil {
			return err
		}
		defer stream.Close()
		stream.Receive()
		return stream.Err()
	}
	calls["GetLogs"] = func(ctx context.Context) error {
		_, err := kit.ReadLog(ctx, clients.Pods, &kubeconnectv1.GetLogsRequest{Namespace: namespace, Name: "one"})
		return err
	}
	calls["GetLogLines"] = func(ctx context.Context) error {
		_, _, err := kit.ReadLines(ctx, clients.Pods, &kit.LinesRequest{Namespace: namespace})
		return err
	}
	for name := range methodsOfTheAPI() {
		if calls[name] == nil {
			t.Errorf("method %s is not tested", name)
		}
	}
	return calls
}

func methodsOfTheAPI() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		kubeconnectv1.File_kubeconnect_v1_resource_service_proto,
		kubeconnectv1.File_kubeconnect_v1_discovery_service_proto,
		kubeconnectv1.File_kubeconnect_v1_access_service_proto,
		kubeconnectv1.File_kubeconnect_v1_pod_service_proto,
	} {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				all[string(methods.Get(j).Name())] = methods.Get(j)
			}
		}
	}
	return all
}
