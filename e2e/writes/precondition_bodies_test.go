package writes_test

import (
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const strategicMerge = kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE

// unmetPreconditions returns preconditions that an object does not meet.
func unmetPreconditions() []*kubeconnectv1.Preconditions {
	return []*kubeconnectv1.Preconditions{{ResourceVersion: "1"}, {Uid: "8f3c5a3e-0000-4000-8000-000000000000"}}
}

// wantRefusedUnchanged fails the test unless a write was refused and has not changed an object.
func wantRefusedUnchanged(t *testing.T, write kit.ConfigMaps, before *corev1.ConfigMap, err error) {
	t.Helper()
	if code := connect.CodeOf(err); err == nil || code != connect.CodeAborted && code != connect.CodeInvalidArgument {
		t.Errorf("%v, want ABORTED, or INVALID_ARGUMENT for a body that cannot have preconditions", err)
	}
	kit.WantUnchanged(t, write, before)
}

// TestPreconditions_PatchesCannotReplaceThem sends patches that write or remove the fields of the
// metadata in which preconditions are sent to the API server.
func TestPreconditions_PatchesCannotReplaceThem(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)
	for name, test := range map[string]struct {
		patchType kubeconnectv1.PatchType
		body      string
	}{
		"no metadata":                {patchType: kit.MergePatch, body: `{"metadata":null,"data":{"color":"blue"}}`},
		"null fields":                {patchType: kit.MergePatch, body: `{"metadata":{"resourceVersion":null,"uid":null},"data":{"color":"blue"}}`},
		"empty fields":               {patchType: kit.MergePatch, body: `{"metadata":{"resourceVersion":"","uid":""},"data":{"color":"blue"}}`},
		"the right fields":           {patchType: kit.MergePatch, body: `{"metadata":{"resourceVersion":"` + before.ResourceVersion + `","uid":"` + string(before.UID) + `"},"data":{"color":"blue"}}`},
		"metadata twice":             {patchType: kit.MergePatch, body: `{"metadata":{"labels":{"a":"b"}},"data":{"color":"blue"},"metadata":{"labels":{"c":"d"}}}`},
		"escaped metadata":           {patchType: kit.MergePatch, body: `{"\u006detadata":{"labels":{"a":"b"}},"data":{"color":"blue"}}`},
		"metadata, and escaped":      {patchType: kit.MergePatch, body: `{"metadata":{"labels":{"a":"b"}},"data":{"color":"blue"},"\u006detadata":{"labels":{"c":"d"}}}`},
		"the version twice":          {patchType: kit.MergePatch, body: `{"metadata":{"resourceVersion":"1","resourceVersion":"` + before.ResourceVersion + `"},"data":{"color":"blue"}}`},
		"an escaped version":         {patchType: kit.MergePatch, body: `{"metadata":{"resource\u0056ersion":"` + before.ResourceVersion + `"},"data":{"color":"blue"}}`},
		"capitals":                   {patchType: kit.MergePatch, body: `{"Metadata":{"resourceVersion":""},"data":{"color":"blue"}}`},
		"operations that remove":     {patchType: jsonPatch, body: `[{"op":"remove","path":"/metadata/resourceVersion"},{"op":"remove","path":"/metadata/uid"},{"op":"add","path":"/data/color","value":"blue"}]`},
		"operations that replace":    {patchType: jsonPatch, body: `[{"op":"replace","path":"/metadata/resourceVersion","value":"` + before.ResourceVersion + `"},{"op":"add","path":"/data/color","value":"blue"}]`},
		"operations on the metadata": {patchType: jsonPatch, body: `[{"op":"replace","path":"/metadata","value":{"name":"one"}},{"op":"add","path":"/data/color","value":"blue"}]`},
		"operations on everything":   {patchType: jsonPatch, body: `[{"op":"replace","path":"","value":{"metadata":{"name":"one"},"data":{"color":"blue"}}}]`},
		"no operations":              {patchType: jsonPatch, body: `[]`},
		"no metadata, strategic":     {patchType: strategicMerge, body: `{"metadata":null,"data":{"color":"blue"}}`},
		"replaced metadata":          {patchType: strategicMerge, body: `{"metadata":{"$patch":"replace","name":"one"},"data":{"color":"blue"}}`},
		"a replaced object":          {patchType: strategicMerge, body: `{"$patch":"replace","metadata":{"name":"one"},"data":{"color":"blue"}}`},
		"deleted metadata":           {patchType: strategicMerge, body: `{"metadata":{"$patch":"delete"},"data":{"color":"blue"}}`},
		"applied metadata twice":     {patchType: applyPatch, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"color":"blue"},"metadata":{"name":"one"}}`},
		"YAML metadata twice":        {patchType: applyPatch, body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  color: blue\nmetadata:\n  name: one\n"},
		"a YAML anchor":              {patchType: applyPatch, body: "apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: one\ndata:\n  color: blue\n"},
		"a YAML merge":               {patchType: applyPatch, body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  <<: {resourceVersion: '" + before.ResourceVersion + "'}\n  name: one\ndata:\n  color: blue\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, unmet := range unmetPreconditions() {
				request := kit.WithData(&kubeconnectv1.PatchRequest{Resource: "configmaps", Namespace: namespace, Name: "one", Type: test.patchType, Preconditions: unmet}, test.body)
				if test.patchType == applyPatch {
					request.FieldManager, request.Force = "test", true
				}
				_, err := client.Patch(ctx, request)
				wantRefusedUnchanged(t, write, before, err)
			}
		})
	}
}

// TestPreconditions_ObjectsCannotReplaceThem is the same for updates.
func TestPreconditions_ObjectsCannotReplaceThem(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	before := write.Create("one", nil)
	for name, body := range map[string]string{
		"plain":                 `{"metadata":{"name":"one"},"data":{"color":"blue"}}`,
		"YAML":                  "metadata:\n  name: one\ndata:\n  color: blue\n",
		"YAML metadata twice":   "metadata:\n  name: one\ndata:\n  color: blue\nmetadata:\n  name: one\n",
		"metadata twice":        `{"metadata":{"name":"one"},"data":{"color":"blue"},"metadata":{"name":"one"}}`,
		"metadata, and escaped": `{"metadata":{"name":"one"},"data":{"color":"blue"},"\u006detadata":{"name":"one"}}`,
		"no metadata":           `{"data":{"color":"blue"}}`,
		"null metadata":         `{"metadata":null,"data":{"color":"blue"}}`,
		"null fields":           `{"metadata":{"name":"one","resourceVersion":null,"uid":null},"data":{"color":"blue"}}`,
		"empty fields":          `{"metadata":{"name":"one","resourceVersion":"","uid":""},"data":{"color":"blue"}}`,
		"the right fields":      `{"metadata":{"name":"one","resourceVersion":"` + before.ResourceVersion + `","uid":"` + string(before.UID) + `"},"data":{"color":"blue"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, unmet := range unmetPreconditions() {
				_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
					Resource: "configmaps", Namespace: namespace, Name: "one", Preconditions: unmet, Body: &kubeconnectv1.UpdateRequest_Data{Data: []byte(body)},
				})
				wantRefusedUnchanged(t, write, before, err)
			}
		})
	}
	t.Run("protobuf with metadata twice", func(t *testing.T) {
		for _, unmet := range unmetPreconditions() {
			_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: "configmaps", Namespace: namespace, Name: "one", Preconditions: unmet, Body: &kubeconnectv1.UpdateRequest_Protobuf{Protobuf: twiceEncoded(t, before)},
			})
			wantRefusedUnchanged(t, write, before, err)
		}
	})
}

// twiceEncoded returns a changed object as protobuf, followed by metadata with the right version and
// UID: in protobuf the last value of a field applies.
func twiceEncoded(t *testing.T, object *corev1.ConfigMap) []byte {
	t.Helper()
	changed := object.DeepCopy()
	changed.ResourceVersion, changed.UID, changed.ManagedFields = "", types.UID(""), nil
	changed.Data = map[string]string{"color": "blue"}
	message, err := changed.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	only := &corev1.ConfigMap{}
	only.Name, only.ResourceVersion, only.UID = object.Name, object.ResourceVersion, object.UID
	metadata, err := only.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(message, metadata...)
}
