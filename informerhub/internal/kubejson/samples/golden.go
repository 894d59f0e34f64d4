package samples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Golden is one of k8s.io/api's golden files: an object of a kind with every field set.
type Golden struct {
	Name    string // the release that wrote it, and its file's name
	Kind    schema.GroupVersionKind
	Message []byte
}

// ReadGolden reads k8s.io/api's golden files of all releases.
func ReadGolden(t *testing.T) (all []Golden) {
	t.Helper()
	for _, path := range goldenFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(bytes.TrimPrefix(text, []byte("k8s\x00"))); err != nil {
			t.Fatal(err)
		}
		kind := envelope.GroupVersionKind()
		if !scheme.Scheme.Recognizes(kind) {
			continue // a kind of an older release that was removed
		}
		name := strings.TrimPrefix(path, filepath.Dir(filepath.Dir(path)))
		all = append(all, Golden{name, kind, envelope.Raw})
	}
	if len(all) < 600 {
		t.Errorf("found %d samples only", len(all))
	}
	return all
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Skipf("the module k8s.io/api was not found: %v", err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*", "*.pb"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
