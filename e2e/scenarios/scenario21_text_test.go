package scenarios_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// texts are strings that encoders often corrupt.
var texts = map[string]string{
	"empty":         "",
	"umlauts":       "Grüße aus Köln",
	"han":           "状态已更新",
	"right-to-left": "שלום עולם",
	"combining":     "e\u0301 is not é",
	"emoji":         "👩‍👩‍👧‍👦 🏳️‍🌈",
	"beyond-bmp":    "\U0001F600\U00010348\U0010FFFF",
	"controls":      "\x01\t\r\n\x1f\x7f",
	"nul":           "a\x00b",
	"json":          `"}],{"\u0041":null}</script>&<`,
	"separators":    "\u2028\u2029\ufeff\ufffd",
	"numbers":       "0x1p-2 1e400 NaN",
}

func TestScenario21_TextInAnyUTF8IsUnchanged(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		createTexts(ctx, t, namespace, "written-directly")
		patchTexts(ctx, t, client, namespace, "written-as-value", valueOf(t))
		patchTexts(ctx, t, client, namespace, "written-as-bytes", bytesOf(t))
		written := kit.ConfigMapVersions(ctx, t, namespace, "texts")
		for content, encoding := range kit.Encodings {
			t.Run(content, func(t *testing.T) {
				view := kit.UntilHeld(ctx, record.Watch(t, client, &kubeconnectv1.WatchRequest{
					Resource: "configmaps", Namespace: namespace, LabelSelector: "texts", Encoding: encoding,
				}), written)
				for _, object := range view.Model.Objects {
					wantTexts(t, object, content)
				}
			})
		}
	})
}

func createTexts(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	_, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: kit.Labels{"texts": ""}, Annotations: texts},
		Data:       texts,
		BinaryData: map[string][]byte{"bytes": {0, 0xff, 0xfe, 0xc0}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// patchTexts writes the same texts through the service.
func patchTexts(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace, name string, body func(*kubeconnectv1.PatchRequest, map[string]any)) {
	t.Helper()
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(name, kit.Labels{"texts": ""})
	request := &kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: name, Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}
	data := anyValues(texts)
	data["key"] = nil
	body(request, map[string]any{
		"metadata":   map[string]any{"annotations": anyValues(texts)},
		"data":       data,
		"binaryData": map[string]any{"bytes": "AP/+wA=="},
	})
	answer := kit.Patch(ctx, t, client, request)
	wantTexts(t, answer.GetObject(), "struct")
}

func valueOf(t *testing.T) func(*kubeconnectv1.PatchRequest, map[string]any) {
	return func(request *kubeconnectv1.PatchRequest, object map[string]any) { withValue(t, request, object) }
}

func bytesOf(t *testing.T) func(*kubeconnectv1.PatchRequest, map[string]any) {
	return func(request *kubeconnectv1.PatchRequest, object map[string]any) {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		kit.WithData(request, string(text))
	}
}

func anyValues(values map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		all[key] = value
	}
	return all
}

func wantTexts(t *testing.T, object *kubeconnectv1.Object, content string) {
	t.Helper()
	got := new(corev1.ConfigMap)
	kit.Decode(t, object, content, got)
	if !maps.Equal(got.Data, texts) {
		t.Errorf("data of %s: %q", object.GetName(), got.Data)
	}
	if !maps.Equal(got.Annotations, texts) {
		t.Errorf("annotations of %s: %q", object.GetName(), got.Annotations)
	}
	if string(got.BinaryData["bytes"]) != "\x00\xff\xfe\xc0" {
		t.Errorf("bytes of %s: %x", object.GetName(), got.BinaryData["bytes"])
	}
}
