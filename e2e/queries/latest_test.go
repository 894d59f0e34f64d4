package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestLatest_ReadsSeeEveryEarlierWrite writes directly to the API server and reads
// immediately. Some of these reads would be outdated if they came from the cache.
func TestLatest_ReadsSeeEveryEarlierWrite(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		write.Create("one", nil)
		for i := range 30 {
			written := write.Touch("one", strconv.Itoa(i))
			got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Consistency: kit.Latest})
			if err != nil {
				t.Fatal(err)
			}
			kit.WantAPIServer(t, got)
			if version := got.GetObject().GetResourceVersion(); version != written.ResourceVersion {
				t.Fatalf("Get returns version %s after a write at %s", version, written.ResourceVersion)
			}
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name=one", Consistency: kit.Latest})
			if err != nil {
				t.Fatal(err)
			}
			kit.WantAPIServer(t, list)
			if len(list.GetObjects()) != 1 || list.GetObjects()[0].GetResourceVersion() != written.ResourceVersion {
				t.Fatalf("List returns %v after a write at %s", list.GetObjects(), written.ResourceVersion)
			}
		}
	})
}

func TestSource_CachedReadsReportTheCache(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default"})
	if err != nil || got.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("source of Get %v (%v)", got.GetSource(), err)
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces"})
	if err != nil || list.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("source of List %v (%v)", list.GetSource(), err)
	}
	if source := firstResponse(ctx, t, client, &kubeconnectv1.WatchRequest{Resource: "namespaces"}).GetSource(); source != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("source of Watch %v", source)
	}
}

// firstResponse returns the first response of a watch.
func firstResponse(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) *kubeconnectv1.WatchResponse {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	return stream.Msg()
}

// TestLatest_ReadsEqualCachedOnes compares live and cached reads in every encoding, for a built-in
// kind and a custom one.
func TestLatest_ReadsEqualCachedOnes(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", kit.Labels{"a": "b"})
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	for _, resource := range []string{"configmaps", gadgets.Name()} {
		for encoding, name := range kubeconnectv1.Encoding_name {
			t.Run(resource+" as "+name, func(t *testing.T) {
				cached := &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "one", Encoding: kubeconnectv1.Encoding(encoding)}
				var want *kubeconnectv1.GetResponse
				kit.Eventually(ctx, t, "the object is cached", func() (err error) {
					want, err = client.Get(ctx, cached)
					return err
				})
				got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "one", Encoding: kubeconnectv1.Encoding(encoding), Consistency: kit.Latest})
				if err != nil {
					t.Fatal(err)
				}
				wantEqual(t, want.GetResource(), got.GetResource())
				wantEqual(t, want.GetObject(), got.GetObject())
				list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace, FieldSelector: "metadata.name=one", Encoding: kubeconnectv1.Encoding(encoding), Consistency: kit.Latest})
				if err != nil || len(list.GetObjects()) != 1 {
					t.Fatalf("List returns %d objects (%v)", len(list.GetObjects()), err)
				}
				wantEqual(t, want.GetResource(), list.GetResource())
				wantEqual(t, want.GetObject(), list.GetObjects()[0])
			})
		}
	}
}

// TestLatest_LongListsAreFromMemory writes directly to the API server, to the listed resource and to others, and lists immediately. Each
// list is from the cache, and sees each write.
func TestLatest_LongListsAreFromMemory(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		const n = 600
		for i := range n {
			write.Create(fmt.Sprintf("many-%04d", i), nil)
		}
		kit.ListAll(ctx, t, client, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
		request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: n, Consistency: kit.Latest}
		for i := range 8 {
			written := write.Touch(fmt.Sprintf("many-%04d", i), strconv.Itoa(i))
			if i%4 == 0 { // the newest version is of another resource
				kit.NewAccount(ctx, t, namespace, fmt.Sprint("other-", i))
			}
			list, err := client.List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			if list.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
				t.Errorf("list %d is from %v", i, list.GetSource())
			}
			at := slices.IndexFunc(list.GetObjects(), func(object *kubeconnectv1.Object) bool { return object.GetName() == written.Name })
			if at < 0 || list.GetObjects()[at].GetResourceVersion() != written.ResourceVersion {
				t.Fatalf("list %d, of %d objects, does not have the write at %s", i, len(list.GetObjects()), written.ResourceVersion)
			}
			if list.GetFreshness().GetStale() {
				t.Errorf("list %d is stale", i)
			}
		}
	})
}

// TestLatest_PagesAreOneSnapshot reads more than one page of the API server, while the
// objects change.
func TestLatest_PagesAreOneSnapshot(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	const n = 1001
	for i := range n {
		write.Create(fmt.Sprintf("many-%04d", i), kit.Labels{"many": "true"})
	}
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "many=true", PageSize: 400, Consistency: kit.Latest}
	page, err := client.List(ctx, request)
	if err != nil || page.GetRemainingItemCount() != n-400 {
		t.Fatalf("%d remaining (%v)", page.GetRemainingItemCount(), err)
	}
	write.Delete("many-1000")
	request.PageToken = page.GetNextPageToken()
	rest := kit.ListAll(ctx, t, client, request)
	if len(rest) != n-400 || rest[len(rest)-1].GetName() != "many-1000" {
		t.Errorf("%d further objects, the last of them %s", len(rest), rest[len(rest)-1].GetName())
	}
}

// TestLatest_ListCoversTheAllowedNamespaces checks that a list is one snapshot of all
// these namespaces.
func TestLatest_ListCoversTheAllowedNamespaces(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	a, b, c := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.NewAccount(ctx, t, a, "some")
	for _, namespace := range []string{a, b, c} {
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", kit.Labels{"seen": a})
	}
	caller.GrantIn(a, "reads", kit.Rule("configmaps", "list"))
	caller.GrantIn(c, "reads", kit.Rule("configmaps", "list"))
	client := caller.Calling(kit.StartForCallers(t), harness.Connect).Resources
	kit.Eventually(ctx, t, "the permissions are effective", func() error {
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "seen=" + a, Consistency: kit.Latest})
		if err != nil {
			return err
		}
		kit.WantAPIServer(t, list)
		var got []string
		for _, object := range list.GetObjects() {
			got = append(got, object.GetNamespace())
		}
		if want := slices.Sorted(slices.Values([]string{a, c})); !slices.Equal(got, want) {
			return fmt.Errorf("namespaces %v, want %v", got, want)
		}
		return nil
	})
}

// TestLatest_ReadsReturnTheAPIServersErrors reads a missing object, and one without permission.
func TestLatest_ReadsReturnTheAPIServersErrors(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	request := &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "none", Consistency: kit.Latest}

	_, want := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Get(ctx, "none", metav1.GetOptions{})
	_, err := kit.NewClient(t, kit.Cluster(t)).Get(ctx, request)
	kit.WantError(t, err, connect.CodeNotFound, want.Error())
	kit.WantStatus(t, err, "NotFound")

	caller := kit.NewAccount(ctx, t, namespace, "nobody")
	_, err = caller.Calling(kit.StartForCallers(t), harness.Connect).Resources.Get(ctx, request)
	kit.WantError(t, err, connect.CodePermissionDenied,
		fmt.Sprintf("configmaps %q is forbidden: User %q cannot get resource %q in API group %q in the namespace %q", "none", caller.User(), "configmaps", "", namespace))
}

// TestLatest_ReadsAreMadeAsTheCaller checks the audit log of the API server.
func TestLatest_ReadsAreMadeAsTheCaller(t *testing.T) {
	t.Parallel()
	for how, whose := range map[string]func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo{
		"token":       func(_ *testing.T, event harness.AuditEvent) authenticationv1.UserInfo { return event.User },
		"impersonate": kit.CallerOf,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(harness.AuditedReads, nil)
			caller := kit.NewAccount(ctx, t, namespace, "reader")
			caller.GrantIn(namespace, "reads", kit.Rule("configmaps", "get"))
			client := caller.Calling(kit.StartForCallers(t, "--write-as", how), harness.Connect).Resources
			request := &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: harness.AuditedReads, Consistency: kit.Latest}
			reads := 0
			kit.Eventually(ctx, t, "the permissions are effective", func() error {
				reads++
				_, err := client.Get(ctx, request)
				return err
			})
			for _, event := range kit.UntilRecorded(ctx, t, namespace, reads) {
				if got := whose(t, event).Username; got != caller.User() {
					t.Errorf("the user in the audit log is %q", got)
				}
			}
		})
	}
}

// wantEqual fails the test unless two messages are equal.
func wantEqual(t *testing.T, want, got proto.Message) {
	t.Helper()
	if !proto.Equal(want, got) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
