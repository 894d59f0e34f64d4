package object

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestCodec_DecodesSamplesOfEveryKind reads k8s.io/api's own samples: each kind with every field
// set, as protobuf and as JSON.
func TestCodec_DecodesSamplesOfEveryKind(t *testing.T) {
	tried := 0
	for _, path := range samples(t) {
		kind, ok := sampleKind(path)
		if !ok {
			continue
		}
		tried++
		t.Run(kind.String(), func(t *testing.T) {
			body, text := readSample(t, path), readSample(t, strings.TrimSuffix(path, ".pb")+".json")
			var want map[string]any
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			checkContent(t, decodeOne(t, &Codec{Kind: kind, KeepManagedFields: true}, body), want)
			checkContent(t, decodeOne(t, &Codec{Kind: kind, KeepManagedFields: true}, text), want)

			unstructured.RemoveNestedField(want, "metadata", "managedFields")
			checkContent(t, decodeOne(t, &Codec{Kind: kind}, body), want)
			checkContent(t, decodeOne(t, &Codec{Kind: kind}, text), want)
		})
	}
	if tried < 120 {
		t.Errorf("tested only %d samples", tried)
	}
}

func samples(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Skipf("the module k8s.io/api was not found: %v", err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "HEAD", "*.pb"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sampleKind parses GROUP.VERSION.KIND.pb; false for a kind that has no metadata, or that client-go
// has no type for.
func sampleKind(path string) (schema.GroupVersionKind, bool) {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".pb"), ".")
	if len(parts) < 3 {
		return schema.GroupVersionKind{}, false
	}
	last := len(parts) - 1
	kind := schema.GroupVersionKind{Group: strings.Join(parts[:last-1], "."), Version: parts[last-1], Kind: parts[last]}
	if kind.Group == "core" {
		kind.Group = ""
	}
	object, err := scheme.Scheme.New(kind)
	if err != nil || strings.HasSuffix(kind.Kind, "List") {
		return kind, false
	}
	_, hasMetadata := object.(interface{ GetName() string })
	return kind, hasMetadata
}

func readSample(t *testing.T, path string) []byte {
	t.Helper()
	sample, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sample
}

func checkContent(t *testing.T, object *Object, want map[string]any) {
	t.Helper()
	text, err := object.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the content differs (-sample +informerhub):\n%s", diff)
	}
	checkHead(t, object, unstructuredFrom(t, text))
}
