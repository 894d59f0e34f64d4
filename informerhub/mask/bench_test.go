package mask

import (
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
)

// BenchmarkPod cuts a pod to the fields that a table of pods shows.
func BenchmarkPod(b *testing.B) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	m := parsed(b, "metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "spec.containers[*].image")
	message := podMessage(b)
	text, err := kubejson.Append(nil, kind, message)
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 0, 1<<14)
	b.Run("protobuf", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = m.AppendProtobuf(buffer[:0], kind, message)
		}
		b.ReportMetric(float64(len(message)), "B-whole")
		b.ReportMetric(float64(len(buffer)), "B-masked")
	})
	b.Run("JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer, _ = m.AppendJSON(buffer[:0], text)
		}
		b.ReportMetric(float64(len(text)), "B-whole")
		b.ReportMetric(float64(len(buffer)), "B-masked")
	})
}

func podMessage(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../internal/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(text, &pod); err != nil {
		t.Fatal(err)
	}
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return message
}
