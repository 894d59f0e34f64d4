package queries_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func createSecret(ctx context.Context, t *testing.T, namespace, name string, with kit.Labels) *corev1.Secret {
	t.Helper()
	created, err := kit.SecretsIn(t, namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with},
		StringData: map[string]string{"key": "value"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// TestUncached_ResourcesAreReadAtTheAPIServer reads Secrets over each protocol, and checks that
// none of them is cached afterwards.
func TestUncached_ResourcesAreReadAtTheAPIServer(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--uncached", "Secret,configmaps")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx, clients := kit.Deadline(t), harness.Dial(harness.HTTP2(t), service.Address, protocol)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			created := createSecret(ctx, t, namespace, "one", nil)

			got, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "secrets", Namespace: namespace, Name: "one"})
			if err != nil {
				t.Fatal(err)
			}
			kit.WantAPIServer(t, got)
			kit.WantHead(t, got.GetObject(), created)
			list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: namespace, MinResourceVersion: created.ResourceVersion})
			if err != nil || len(list.GetObjects()) != 1 {
				t.Fatalf("List returns %d objects (%v)", len(list.GetObjects()), err)
			}
			kit.WantAPIServer(t, list)
			if source := firstResponse(ctx, t, clients.Resources, &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace}).GetSource(); source != kubeconnectv1.Source_SOURCE_API_SERVER {
				t.Errorf("source of Watch %v", source)
			}
			wantNoCache(ctx, t, clients, "secrets")
		})
	}
}

// wantNoCache fails the test if a resource is cached.
func wantNoCache(ctx context.Context, t *testing.T, clients harness.Clients, resource string) {
	t.Helper()
	types, err := clients.Discovery.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if cache := kit.TypeOf(types, resource).GetCache(); cache != nil {
		t.Errorf("%s is cached: %v", resource, cache)
	}
}

// TestPrivateWatch_DeliversTheSameAsASharedOne validates a stream of Secrets with the rules of
// every stream: a snapshot, changes, objects that enter and leave the selection, and a resume.
func TestPrivateWatch_DeliversTheSameAsASharedOne(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	client := harness.Dial(harness.HTTP2(t), harness.StartService(t, kit.Cluster(t).Kubeconfig, "--uncached", "secrets").Address, harness.Connect).Resources
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	secrets, chosen := kit.SecretsIn(t, namespace), kit.Labels{"chosen": "yes"}
	createSecret(ctx, t, namespace, "kept", chosen)
	createSecret(ctx, t, namespace, "other", nil)
	request := &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace, LabelSelector: "chosen=yes"}
	stream := record.Watch(t, client, request)
	stream.Synced(ctx)
	relabel := func(name string, with kit.Labels) *corev1.Secret {
		changed, err := secrets.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with}}, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}

	relabel("kept", nil)
	relabel("other", chosen)
	last := createSecret(ctx, t, namespace, "third", chosen)
	view := stream.Reaches(ctx, last.ResourceVersion)
	wantHolds(t, view, "other", "third")
	stream.Close()

	if err := secrets.Delete(ctx, "third", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	last = createSecret(ctx, t, namespace, "fourth", chosen)
	resumed := record.ResumeElsewhere(t, client, request, kit.LastPoint(t, view))
	wantHolds(t, resumed.Reaches(ctx, last.ResourceVersion), "other", "fourth")
}

// wantHolds fails the test unless the client of a stream has these objects, by name.
func wantHolds(t *testing.T, view record.View, names ...string) {
	t.Helper()
	held := map[string]bool{}
	for _, object := range view.Model.Objects {
		held[object.GetName()] = true
	}
	if len(held) != len(names) {
		t.Errorf("the client has %v, want %v", held, names)
	}
	for _, name := range names {
		if !held[name] {
			t.Errorf("the client does not have %q", name)
		}
	}
}

// TestPrivateWatch_NeedsPermissionForItsScope makes a caller with permission in one namespace
// watch that namespace, then all of them, then a namespace whose permission is revoked.
func TestPrivateWatch_NeedsPermissionForItsScope(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createSecret(ctx, t, namespace, "one", nil)
	caller := kit.NewAccount(ctx, t, namespace, "watcher")
	caller.GrantIn(namespace, "watches", kit.Rule("secrets", "list", "watch"))
	client := caller.Calling(kit.StartForCallers(t, "--uncached", "secrets", "--recheck-interval", "1s"), harness.Connect).Resources
	own := &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace}
	kit.Eventually(ctx, t, "the permissions are effective", func() error {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: namespace})
		return err
	})
	stream := record.Watch(t, client, own)
	wantHolds(t, stream.Synced(ctx), "one")

	err := kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "secrets"})
	kit.WantError(t, err, connect.CodePermissionDenied, fmt.Sprintf("secrets is forbidden: User %q cannot list resource \"secrets\" in API group \"\" at the cluster scope", caller.User()))

	caller.RevokeIn(namespace, "watches")
	kit.WantError(t, stream.End(ctx), connect.CodePermissionDenied)
}

// TestPrivateWatch_NeedsPermissionForItsName checks the permission that a shared watch needs
// too.
func TestPrivateWatch_NeedsPermissionForItsName(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createSecret(ctx, t, namespace, "mine", nil)
	createSecret(ctx, t, namespace, "other", nil)
	caller := kit.NewAccount(ctx, t, namespace, "watcher")
	caller.GrantIn(namespace, "watches", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"mine"}, Verbs: []string{"watch"}})
	client := caller.Calling(kit.StartForCallers(t, "--uncached", "secrets"), harness.Connect).Resources
	request := &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace, Name: "mine"}
	if !streamsLists(t) {
		kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodePermissionDenied, "cannot list resource")
		return
	}
	kit.Eventually(ctx, t, "the permissions are effective", func() error { return kit.WatchError(ctx, client, request) })
	wantHolds(t, record.Watch(t, client, request).Synced(ctx), "mine")
	request.Name = "other"
	kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodePermissionDenied)
}

// streamsLists reports whether the API server streams the first list of a watch, as since Kubernetes 1.34 by default.
// Otherwise a watch also needs the permission to list.
func streamsLists(t *testing.T) bool {
	t.Helper()
	server, err := kit.Cluster(t).Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return version.MustParseGeneric(server.GitVersion).AtLeast(version.MustParseGeneric("1.34"))
}

// TestUncached_UnwatchableResourcesAreReadAtTheAPIServer reads component statuses, which the API
// server computes for each request, and resources that can only be created.
func TestUncached_UnwatchableResourcesAreReadAtTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	want, err := kit.Cluster(t).Client.CoreV1().ComponentStatuses().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "componentstatuses", Encoding: kit.Encodings["protobuf"]})
	if err != nil || len(list.GetObjects()) != len(want.Items) || len(want.Items) == 0 {
		t.Fatalf("List returns %d of %d objects (%v)", len(list.GetObjects()), len(want.Items), err)
	}
	kit.WantAPIServer(t, list)
	kit.WantWords(t, fmt.Sprint(list.GetWarnings()), "v1 ComponentStatus is deprecated")
	name := want.Items[0].Name
	got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "cs", Name: name})
	if err != nil || got.GetObject().GetName() != name || got.GetResource().GetKind() != "ComponentStatus" {
		t.Fatalf("got %v (%v)", got, err)
	}
	kit.WantAPIServer(t, got)

	err = kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "componentstatuses"})
	kit.WantError(t, err, connect.CodeUnimplemented, "componentstatuses cannot be watched", "call List or Get")
	_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "tokenreviews"})
	kit.WantError(t, err, connect.CodeUnimplemented, "list is not supported", "tokenreviews")
	_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "tokenreviews", Name: "one"})
	kit.WantError(t, err, connect.CodeUnimplemented, "get is not supported", "tokenreviews")
}

func TestUncached_LeasesAreCachedOnlyIfPreloaded(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	for _, test := range []struct {
		flags []string
		want  kubeconnectv1.Source
	}{
		{nil, kubeconnectv1.Source_SOURCE_API_SERVER},
		{[]string{"--preload", "leases"}, kubeconnectv1.Source_SOURCE_CACHE},
	} {
		service := harness.StartService(t, kit.Cluster(t).Kubeconfig, test.flags...)
		kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
		client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "leases", Namespace: "kube-node-lease"})
		if err != nil || list.GetSource() != test.want || len(list.GetObjects()) == 0 {
			t.Errorf("%v: %d leases, source %v (%v)", test.flags, len(list.GetObjects()), list.GetSource(), err)
		}
		request := &kubeconnectv1.WatchRequest{Resource: "leases", Namespace: "kube-node-lease"}
		if source := firstResponse(ctx, t, client, request).GetSource(); source != test.want {
			t.Errorf("%v: source of a watch %v", test.flags, source)
		}
	}
}
