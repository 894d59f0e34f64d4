package queries_test

import (
	"encoding/json"
	"testing"

	"connectrpc.com/connect/v2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// WantMetadata fails the test unless an object is exactly the metadata of another one.
func wantMetadata(t *testing.T, object *kubeconnectv1.Object, content string, want metav1.ObjectMeta) {
	t.Helper()
	got := new(metav1.PartialObjectMetadata)
	kit.Decode(t, object, content, got)
	want.ManagedFields = nil
	if !apiequality.Semantic.DeepEqual(got.ObjectMeta, want) {
		t.Errorf("got  %v\nwant %v", got.ObjectMeta, want)
	}
	if content == "protobuf" {
		if len(object.GetProtobuf()) != got.Size() {
			t.Errorf("%d bytes, of which %d are metadata", len(object.GetProtobuf()), got.Size())
		}
		return
	}
	text := object.GetJson()
	if content == "struct" {
		text, _ = object.GetStruct().MarshalJSON()
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	if len(members) != 3 || members["kind"] != "PartialObjectMetadata" || members["apiVersion"] != "meta.k8s.io/v1" {
		t.Errorf("got %s", text)
	}
}

func wantMetadataKind(t *testing.T, kind *kubeconnectv1.Resource, resource string) {
	t.Helper()
	wantEqual(t, &kubeconnectv1.Resource{
		Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata", Plural: resource, Namespaced: true,
		ProtobufType: "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
	}, kind)
}

// TestMetadataOnly_IsReadInEachEncoding reads from the cache, from the API server, and uncached
// resources.
func TestMetadataOnly_IsReadInEachEncoding(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--uncached", "secrets")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx, client := kit.Deadline(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			metadata := map[string]metav1.ObjectMeta{
				"pods":    kit.CreateUnscheduledPod(ctx, t, namespace, "one").ObjectMeta,
				"secrets": createSecret(ctx, t, namespace, "one", kit.Labels{"a": "b"}).ObjectMeta,
			}
			for resource, want := range metadata {
				for content, encoding := range kit.Encodings {
					for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
						got, err := client.Get(ctx, &kubeconnectv1.GetRequest{
							Resource: resource, Namespace: namespace, Name: "one", Encoding: encoding, MetadataOnly: true,
							MinResourceVersion: want.ResourceVersion, Consistency: consistency,
						})
						if err != nil {
							t.Fatal(err)
						}
						wantMetadataKind(t, got.GetResource(), resource)
						wantMetadata(t, got.GetObject(), content, want)
						list, err := client.List(ctx, &kubeconnectv1.ListRequest{
							Resource: resource, Namespace: namespace, FieldSelector: "metadata.name=one", Encoding: encoding, MetadataOnly: true, Consistency: consistency,
						})
						if err != nil || len(list.GetObjects()) != 1 {
							t.Fatalf("List returns %d objects (%v)", len(list.GetObjects()), err)
						}
						wantMetadataKind(t, list.GetResource(), resource)
						wantMetadata(t, list.GetObjects()[0], content, want)
					}
					view := record.Watch(t, client, &kubeconnectv1.WatchRequest{
						Resource: resource, Namespace: namespace, Name: "one", Encoding: encoding, MetadataOnly: true,
					}).Synced(ctx)
					wantMetadataKind(t, view.Kind, resource)
					for _, object := range view.Model.Objects {
						wantMetadata(t, object, content, want)
					}
				}
			}
		})
	}
}

func TestMetadataOnly_CustomResourcesFallBackToJSON(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	var want metav1.PartialObjectMetadata
	text, _ := gadgets.Get("v1", namespace, "one").MarshalJSON()
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
		got, err := client.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: gadgets.Name(), Namespace: namespace, Name: "one", Encoding: kit.Encodings["protobuf"], MetadataOnly: true,
			MinResourceVersion: want.ResourceVersion, Consistency: consistency,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantMetadata(t, got.GetObject(), "json", want.ObjectMeta)
	}
}

// TestMetadataOnly_FieldsLimitTheMetadata reads from the cache and at the API server.
func TestMetadataOnly_FieldsLimitTheMetadata(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	created := kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	request := &kubeconnectv1.GetRequest{
		Resource: "pods", Namespace: namespace, Name: "one", Encoding: kit.Encodings["json"], MetadataOnly: true,
		Fields: []string{"metadata.name"}, MinResourceVersion: created.ResourceVersion,
	}
	for _, request.Consistency = range []kubeconnectv1.Consistency{0, kit.Latest} {
		got, err := client.Get(ctx, request)
		if err != nil || string(got.GetObject().GetJson()) != `{"metadata":{"name":"one"}}` {
			t.Errorf("got %s (%v)", got.GetObject().GetJson(), err)
		}
	}
	request.Fields = []string{"metadata.name", "spec.nodeName"}
	_, err := client.Get(ctx, request)
	kit.WantError(t, err, connect.CodeInvalidArgument, "spec.nodeName", "metadata_only")
}
