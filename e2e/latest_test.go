package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const latest = kubeconnectv1.Consistency_CONSISTENCY_LATEST

// TestLatest_ReadsSeeEveryEarlierWrite writes directly to the API server and reads
// immediately. Some of these reads would be outdated if they came from the cache.
func TestLatest_ReadsSeeEveryEarlierWrite(t *testing.T) {
	t.Parallel()
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		write := configMapsIn(ctx, t, cluster(t), namespace)
		write.create("one", nil)
		for i := range 30 {
			written := write.touch("one", strconv.Itoa(i))
			got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Consistency: latest})
			if err != nil {
				t.Fatal(err)
			}
			wantAPIServer(t, got)
			if version := got.GetObject().GetResourceVersion(); version != written.ResourceVersion {
				t.Fatalf("Get returns version %s after a write at %s", version, written.ResourceVersion)
			}
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name=one", Consistency: latest})
			if err != nil {
				t.Fatal(err)
			}
			wantAPIServer(t, list)
			if len(list.GetObjects()) != 1 || list.GetObjects()[0].GetResourceVersion() != written.ResourceVersion {
				t.Fatalf("List returns %v after a write at %s", list.GetObjects(), written.ResourceVersion)
			}
		}
	})
}

// wantAPIServer fails the test unless the source of a response is the API server.
func wantAPIServer(t *testing.T, answer interface {
	GetSource() kubeconnectv1.Source
	GetFreshness() *kubeconnectv1.Freshness
}) {
	t.Helper()
	if answer.GetSource() != kubeconnectv1.Source_SOURCE_API_SERVER || answer.GetFreshness().GetStale() || answer.GetFreshness().GetLastContact() == nil {
		t.Errorf("source %v, freshness %v, want the API server", answer.GetSource(), answer.GetFreshness())
	}
}

func TestSource_CachedReadsReportTheCache(t *testing.T) {
	t.Parallel()
	ctx, client := deadline(t), newClient(t, cluster(t))
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
func firstResponse(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.WatchRequest) *kubeconnectv1.WatchResponse {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Watch(ctx, request)
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
	ctx, client := deadline(t), newClient(t, cluster(t))
	namespace := newNamespace(ctx, t, cluster(t))
	configMapsIn(ctx, t, cluster(t), namespace).create("one", labels{"a": "b"})
	gadgets := newCustomResource(ctx, t, cluster(t), namespace)
	gadgets.define("v1")
	gadgets.create("v1", namespace, "one", map[string]any{"color": "red"})
	untilListed(ctx, t, client, gadgets)
	for _, resource := range []string{"configmaps", gadgets.name()} {
		for encoding, name := range kubeconnectv1.Encoding_name {
			t.Run(resource+" as "+name, func(t *testing.T) {
				cached := &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "one", Encoding: kubeconnectv1.Encoding(encoding)}
				var want *kubeconnectv1.GetResponse
				eventually(ctx, t, "the object is cached", func() (err error) {
					want, err = client.Get(ctx, cached)
					return err
				})
				got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "one", Encoding: kubeconnectv1.Encoding(encoding), Consistency: latest})
				if err != nil {
					t.Fatal(err)
				}
				wantEqual(t, want.GetKind(), got.GetKind())
				wantEqual(t, want.GetObject(), got.GetObject())
				list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace, FieldSelector: "metadata.name=one", Encoding: kubeconnectv1.Encoding(encoding), Consistency: latest})
				if err != nil || len(list.GetObjects()) != 1 {
					t.Fatalf("List returns %d objects (%v)", len(list.GetObjects()), err)
				}
				wantEqual(t, want.GetKind(), list.GetKind())
				wantEqual(t, want.GetObject(), list.GetObjects()[0])
			})
		}
	}
}

// TestLatest_PagesAreOneSnapshot reads more than one page of the API server, while the
// objects change.
func TestLatest_PagesAreOneSnapshot(t *testing.T) {
	t.Parallel()
	ctx, client := deadline(t), newClient(t, cluster(t))
	namespace := newNamespace(ctx, t, cluster(t))
	write := configMapsIn(ctx, t, cluster(t), namespace)
	const n = 1001
	for i := range n {
		write.create(fmt.Sprintf("many-%04d", i), labels{"many": "true"})
	}
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "many=true", PageSize: 400, Consistency: latest}
	page, err := client.List(ctx, request)
	if err != nil || page.GetRemaining() != n-400 {
		t.Fatalf("%d remaining (%v)", page.GetRemaining(), err)
	}
	write.delete("many-1000")
	request.PageToken = page.GetNextPageToken()
	rest := listAll(ctx, t, client, request)
	if len(rest) != n-400 || rest[len(rest)-1].GetName() != "many-1000" {
		t.Errorf("%d further objects, the last of them %s", len(rest), rest[len(rest)-1].GetName())
	}
}

// TestLatest_ListCoversTheAllowedNamespaces checks that a list is one snapshot of all
// these namespaces.
func TestLatest_ListCoversTheAllowedNamespaces(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	a, b, c := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	caller := newAccount(ctx, t, a, "some")
	for _, namespace := range []string{a, b, c} {
		configMapsIn(ctx, t, cluster(t), namespace).create("one", labels{"seen": a})
	}
	caller.grantIn(a, "reads", rule("configmaps", "list"))
	caller.grantIn(c, "reads", rule("configmaps", "list"))
	client := caller.calling(startForCallers(t), harness.Connect).Resources
	eventually(ctx, t, "the permissions are effective", func() error {
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "seen=" + a, Consistency: latest})
		if err != nil {
			return err
		}
		wantAPIServer(t, list)
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
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	request := &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "none", Consistency: latest}

	_, want := cluster(t).Client.CoreV1().ConfigMaps(namespace).Get(ctx, "none", metav1.GetOptions{})
	_, err := newClient(t, cluster(t)).Get(ctx, request)
	wantError(t, err, connect.CodeNotFound, want.Error())
	wantStatus(t, err, "NotFound")

	caller := newAccount(ctx, t, namespace, "nobody")
	_, err = caller.calling(startForCallers(t), harness.Connect).Resources.Get(ctx, request)
	wantError(t, err, connect.CodePermissionDenied,
		fmt.Sprintf("configmaps %q is forbidden: User %q cannot get resource %q in API group %q in the namespace %q", "none", caller.user(), "configmaps", "", namespace))
}

// TestLatest_ReadsAreMadeAsTheCaller checks the audit log of the API server.
func TestLatest_ReadsAreMadeAsTheCaller(t *testing.T) {
	t.Parallel()
	for how, whose := range map[string]func(*testing.T, harness.AuditEvent) authenticationv1.UserInfo{
		"token":       func(_ *testing.T, event harness.AuditEvent) authenticationv1.UserInfo { return event.User },
		"impersonate": onTheCallersBehalf,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, cluster(t))
			configMapsIn(ctx, t, cluster(t), namespace).create(harness.AuditedReads, nil)
			caller := newAccount(ctx, t, namespace, "reader")
			caller.grantIn(namespace, "reads", rule("configmaps", "get"))
			client := caller.calling(startForCallers(t, "--write-as", how), harness.Connect).Resources
			request := &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: harness.AuditedReads, Consistency: latest}
			reads := 0
			eventually(ctx, t, "the permissions are effective", func() error {
				reads++
				_, err := client.Get(ctx, request)
				return err
			})
			for _, event := range untilRecorded(ctx, t, namespace, reads) {
				if got := whose(t, event).Username; got != caller.user() {
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
