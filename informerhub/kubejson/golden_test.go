package kubejson

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestTheSamplesOfEveryKindAreWrittenAsTheirGoTypesDo goes through k8s.io/api's own
// samples, of all the releases that it has: each kind, every field set.
func TestTheSamplesOfEveryKindAreWrittenAsTheirGoTypesDo(t *testing.T) {
	tried := 0
	for _, path := range samples(t) {
		sample, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(bytes.TrimPrefix(sample, []byte("k8s\x00"))); err != nil {
			t.Fatal(err)
		}
		kind := envelope.GroupVersionKind()
		if !scheme.Scheme.Recognizes(kind) {
			continue // an older release knows kinds that are gone
		}
		tried++
		t.Run(strings.TrimPrefix(path, filepath.Dir(filepath.Dir(path))), func(t *testing.T) {
			checkDirect(t, kind, envelope.Raw)
		})
	}
	if tried < 600 {
		t.Errorf("tried %d samples only", tried)
	}
}

func samples(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Skipf("where is the module k8s.io/api? %v", err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*", "*.pb"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
