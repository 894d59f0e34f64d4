package kubejson

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// BenchmarkPod writes the same pod, a web server with a sidecar proxy, in both ways, and logs the
// ratio.
func BenchmarkPod(b *testing.B) {
	message := podMessage(b)
	took := make(map[string]time.Duration)
	for _, way := range []struct {
		name   string
		append func([]byte, schema.GroupVersionKind, []byte) ([]byte, error)
	}{{"by its Go type", appendByGoType}, {"directly", Append}} {
		b.Run(way.name, func(b *testing.B) {
			buffer := make([]byte, 0, 1<<14)
			b.ReportAllocs()
			for b.Loop() {
				buffer, _ = way.append(buffer[:0], podKind, message)
			}
			b.ReportMetric(float64(len(message)), "B-protobuf")
			b.ReportMetric(float64(len(buffer)), "B-json")
			took[way.name] = b.Elapsed() / time.Duration(b.N)
		})
	}
	b.Logf("directly it takes 1/%.1f of the time", float64(took["by its Go type"])/float64(took["directly"]))
}

func podMessage(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/pod.json")
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
