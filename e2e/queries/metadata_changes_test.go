package queries_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestMetadataOnly_FieldsDecideWhichChangesAreEvents changes the data of an object, and then its
// labels. The first change is an event only if the resource version is among the fields.
func TestMetadataOnly_FieldsDecideWhichChangesAreEvents(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for name, test := range map[string]struct {
		fields []string
		data   bool // whether the change of the data is an event
	}{
		"all":              {data: true},
		"metadata":         {fields: []string{"metadata"}, data: true},
		"resource version": {fields: []string{"metadata.resourceVersion"}, data: true},
		"labels":           {fields: []string{"metadata.labels"}},
		"one label":        {fields: []string{"metadata.labels.n", "metadata.name"}},
	} {
		object := strings.ReplaceAll(name, " ", "-") // an own one, without changes of the other cases
		kit.UntilRead(ctx, t, client, "configmaps", write.Create(object, nil))
		var changed, labelled string
		event := nextChange(ctx, t, client, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: object, MetadataOnly: true, Fields: test.fields, Encoding: kit.EncodingJSON,
		}, func() {
			changed = write.Touch(object, name).ResourceVersion
			labelled = write.Relabel(object, map[string]any{"n": "of-" + changed}).ResourceVersion
		})
		want := labelled
		if test.data {
			want = changed
		}
		var content metav1.PartialObjectMetadata
		kit.Decode(t, event.GetObject(), "json", &content)
		if event.GetResourceVersion() != want || test.data && content.ResourceVersion != want {
			t.Errorf("%s: event %v, want the change at %s of %s and %s", name, event, want, changed, labelled)
		}
	}
}
