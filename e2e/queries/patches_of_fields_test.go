package queries_test

import (
	"fmt"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestWatchPatches_OfFieldsHaveOnlyTheFields changes a short field of an object with long ones.
func TestWatchPatches_OfFieldsHaveOnlyTheFields(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Large("one")
	kit.UntilRead(ctx, t, client, "configmaps", write.Patch("one", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"large": fmt.Sprintf("%01000d", 0)}}}))
	for name, test := range map[string]struct {
		fields       []string
		metadataOnly bool
		want         func(value, version string) string
	}{
		"data": {fields: []string{"data"}, want: func(value, _ string) string {
			return fmt.Sprintf(`{"data":{"key":%q}}`, value)
		}},
		"data and version": {fields: []string{"data", "metadata.resourceVersion"}, want: func(value, version string) string {
			return fmt.Sprintf(`{"data":{"key":%q},"metadata":{"resourceVersion":%q}}`, value, version)
		}},
		"metadata": {metadataOnly: true, want: func(_, version string) string {
			return fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, version)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			version := ""
			event := nextChange(ctx, t, client, &kubeconnectv1.WatchRequest{
				Resource: "configmaps", Namespace: namespace, Name: "one", Encoding: kit.EncodingJSON,
				Fields: test.fields, MetadataOnly: test.metadataOnly, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE,
			}, func() { version = write.Touch("one", name).ResourceVersion })
			if got, want := string(event.GetObject().GetJson()), test.want(name, version); got != want || event.GetPatchFormat() == 0 {
				t.Errorf("got %s of format %s, want %s", got, event.GetPatchFormat(), want)
			}
		})
	}
}
