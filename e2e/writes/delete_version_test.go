package writes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// deletionRounds is the number of times that each deletion is read back, because a premature read
// does not fail each time.
const deletionRounds = 50

// deletable describes an object, and how it is deleted.
type deletable struct {
	resource string         // in kubectl's syntax
	metadata map[string]any // in addition to the name
	spec     map[string]any
	all      bool   // whether DeleteCollection deletes it
	seconds  *int64 // grace period
}

// TestDelete_ReturnsAVersionWithTheDeletion deletes at one replica, and immediately
// reads at both with the returned version.
func TestDelete_ReturnsAVersionWithTheDeletion(t *testing.T) {
	t.Parallel()
	replicas := []kit.ResourceClient{kit.NewClient(t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))}
	gadgets := kit.NewCustomResource(kit.Deadline(t), t, kit.Cluster(t), kit.NewNamespace(kit.Deadline(t), t, kit.Cluster(t)))
	gadgets.Define("v1")
	finalizers := map[string]any{"finalizers": []any{"example.com/wait"}}
	pod := map[string]any{"nodeName": "nowhere", "containers": []any{map[string]any{"name": "main", "image": "example.com/main:1"}}}
	// The API server returns a Status, the deleted object, or the object that is being deleted.
	for name, object := range map[string]deletable{
		"a ConfigMap":                  {resource: "configmaps"},
		"a ConfigMap with a finalizer": {resource: "configmaps", metadata: finalizers},
		"a gadget":                     {resource: gadgets.Name()},
		"a gadget with a finalizer":    {resource: gadgets.Name(), metadata: finalizers},
		"a pod with grace":             {resource: "pods", spec: pod},
		"a pod without grace":          {resource: "pods", spec: pod, seconds: new(int64)},
		"all ConfigMaps":               {resource: "configmaps", all: true},
		"all gadgets with finalizers":  {resource: gadgets.Name(), metadata: finalizers, all: true},
		"all pods with grace":          {resource: "pods", spec: pod, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 3*kit.WaitTimeout)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			for round := range deletionRounds {
				object.deleteAndRead(ctx, t, replicas, namespace, fmt.Sprint("one-", round))
			}
		})
	}
}

func (d deletable) deleteAndRead(ctx context.Context, t *testing.T, replicas []kit.ResourceClient, namespace, name string) {
	t.Helper()
	created := d.create(ctx, t, replicas[0], namespace, name)
	for _, replica := range replicas {
		if _, err := d.read(ctx, replica, namespace, name, created.GetResourceVersion()); err != nil {
			t.Fatal(err)
		}
	}
	version := d.delete(ctx, t, replicas[0], namespace, name)
	if version == "" {
		t.Fatal("the deletion returns no version")
	}
	for i, replica := range replicas {
		found, err := d.read(ctx, replica, namespace, name, version)
		if err != nil || len(found) > 0 && !isBeingDeleted(t, found[0]) {
			t.Errorf("with the deletion's version %q, replica %d returns %v, %v", version, i, found, err)
		}
	}
	d.finish(ctx, t, replicas[0], namespace, name)
}

func (d deletable) create(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, name string) *kubeconnectv1.Object {
	t.Helper()
	metadata := map[string]any{"name": name}
	maps.Copy(metadata, d.metadata)
	text, err := json.Marshal(map[string]any{"metadata": metadata, "spec": d.spec})
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
		Resource: d.resource, Namespace: namespace, Body: &kubeconnectv1.CreateRequest_Data{Data: text}, Encoding: kit.EncodingJSON,
	})
	if err != nil {
		t.Fatal(err)
	}
	return response.GetObject()
}

// read returns what Get and List return at a version or later.
func (d deletable) read(ctx context.Context, client kit.ResourceClient, namespace, name, version string) ([]*kubeconnectv1.Object, error) {
	got, err := client.Get(ctx, &kubeconnectv1.GetRequest{
		Resource: d.resource, Namespace: namespace, Name: name, MinResourceVersion: version, Encoding: kit.EncodingJSON,
	})
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		return nil, err
	}
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: d.resource, Namespace: namespace, FieldSelector: "metadata.name=" + name, MinResourceVersion: version, Encoding: kit.EncodingJSON,
	})
	if err != nil {
		return nil, err
	}
	if found := len(list.GetObjects()) > 0; found && got.GetObject() == nil {
		return nil, fmt.Errorf("List returns %v, but Get does not find it", list.GetObjects())
	}
	return list.GetObjects(), nil
}

func (d deletable) delete(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, name string) (version string) {
	t.Helper()
	if d.all {
		response, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{
			Resource: d.resource, Namespace: namespace, FieldSelector: "metadata.name=" + name,
		})
		if err != nil || response.GetDeletedCount() != 1 {
			t.Fatalf("deleted %d, %v", response.GetDeletedCount(), err)
		}
		return response.GetResourceVersion()
	}
	response, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: d.resource, Namespace: namespace, Name: name, GracePeriodSeconds: d.seconds})
	if err != nil {
		t.Fatal(err)
	}
	return response.GetResourceVersion()
}

// finish completes a deletion that waits for a finalizer, or for a node in case of a pod without
// one, unless the control plane has completed it.
func (d deletable) finish(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, name string) {
	t.Helper()
	var err error
	switch {
	case d.metadata != nil:
		_, err = client.Patch(ctx, &kubeconnectv1.PatchRequest{
			Resource: d.resource, Namespace: namespace, Name: name, Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
			Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"metadata":{"finalizers":null}}`)},
		})
	case d.spec != nil && d.seconds == nil:
		_, err = client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: d.resource, Namespace: namespace, Name: name, GracePeriodSeconds: new(int64)})
	}
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		t.Fatal(err)
	}
}

func isBeingDeleted(t *testing.T, object *kubeconnectv1.Object) bool {
	t.Helper()
	var read struct {
		Metadata struct{ DeletionTimestamp string }
	}
	if err := json.Unmarshal(object.GetJson(), &read); err != nil {
		t.Fatal(err)
	}
	return read.Metadata.DeletionTimestamp != ""
}

// TestDelete_ReturnsAVersionWithoutListPermission requires the service to read with its own
// permissions.
func TestDelete_ReturnsAVersionWithoutListPermission(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	deleter := kit.NewAccount(ctx, t, namespace, "deleter")
	deleter.GrantIn(namespace, "deleter", kit.Rule("configmaps", "get", "delete"))
	client := deleter.Calling(service, harness.Protocols[0]).Resources
	created := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	get := func(version string) error {
		_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one", MinResourceVersion: version})
		return err
	}
	kit.Eventually(ctx, t, "the permission is effective", func() error { return get(created.ResourceVersion) })
	response, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
	if err != nil || response.GetResourceVersion() == "" {
		t.Fatalf("the deletion returns %v, %v", response, err)
	}
	kit.WantError(t, get(response.GetResourceVersion()), connect.CodeNotFound)
}

func TestDelete_DryRunReturnsNoVersion(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	one, err := client.Delete(ctx, &kubeconnectv1.DeleteRequest{Resource: "configmaps", Namespace: namespace, Name: "one", DryRun: true})
	if err != nil || one.GetResourceVersion() != "" {
		t.Errorf("version %q, %v", one.GetResourceVersion(), err)
	}
	all, err := client.DeleteCollection(ctx, &kubeconnectv1.DeleteCollectionRequest{Resource: "configmaps", Namespace: namespace, DryRun: true})
	if err != nil || all.GetResourceVersion() != "" {
		t.Errorf("DeleteCollection: version %q, %v", all.GetResourceVersion(), err)
	}
}
