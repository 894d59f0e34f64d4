package queries_test

import (
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestQuery_SeesFieldsThatAreNotReturned filters and sorts by data, of which the caller receives
// nothing.
func TestQuery_SeesFieldsThatAreNotReturned(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for _, name := range []string{"one", "two", "three"} {
		write.Create(name, kit.Labels{"mine": "yes"})
	}
	write.Touch("one", "b")
	write.Touch("two", "c")
	last := write.Touch("three", "a").ResourceVersion
	const filter = "object.data.key != 'c'"
	for name, request := range map[string]*kubeconnectv1.ListRequest{
		"fields":        {Fields: []string{"metadata.name"}},
		"metadata_only": {MetadataOnly: true},
		"both":          {Fields: []string{"metadata.name"}, MetadataOnly: true},
	} {
		request.Resource, request.Namespace, request.LabelSelector, request.MinResourceVersion = "configmaps", namespace, "mine", last
		request.Filter, request.OrderBy, request.Encoding = filter, "data.key desc", kit.EncodingJSON
		for _, request.Consistency = range []kubeconnectv1.Consistency{0, kit.Latest} {
			list, err := client.List(ctx, request)
			if got := kit.NamesOf(list.GetObjects()); err != nil || !slices.Equal(got, []string{"one", "three"}) {
				t.Errorf("%s, %s: %q, %v", name, request.GetConsistency(), got, err)
			}
			for _, object := range list.GetObjects() {
				wantNoData(t, object)
			}
		}
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: "mine", Filter: filter, Encoding: kit.EncodingJSON,
			Fields: request.GetFields(), MetadataOnly: request.GetMetadataOnly(), MinResourceVersion: last,
		})
		for _, object := range stream.Synced(ctx).Model.Objects {
			wantNoData(t, object)
		}
		if held := len(stream.Now().Model.Objects); held != 2 {
			t.Errorf("%s: a watch has %d objects", name, held)
		}
	}
}

func wantNoData(t *testing.T, object *kubeconnectv1.Object) {
	t.Helper()
	var content struct {
		Data     map[string]string
		Metadata struct{ Name string }
	}
	kit.Decode(t, object, "json", &content)
	if content.Data != nil || content.Metadata.Name != object.GetName() {
		t.Errorf("content %s of %s", object.GetJson(), object.GetName())
	}
}
