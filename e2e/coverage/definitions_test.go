package coverage_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define creates the custom resources of the test, and blocks until discovery lists them.
func define(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	text, err := os.ReadFile("testdata/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	for _, document := range documents {
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &definition.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := controlPlane.Dynamic.Resource(definitions).Create(ctx, definition, v1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	until(ctx, t, "the custom resources are served", func() bool {
		listed, err := controlPlane.Client.Discovery().ServerResourcesForGroupVersion("coverage.example.com/v1")
		return err == nil && len(listed.APIResources) >= len(documents)
	})
}

func until(ctx context.Context, t *testing.T, description string, holds func() bool) {
	t.Helper()
	const interval = 50 * time.Millisecond
	err := wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("timed out waiting until %s: %v", description, context.Cause(ctx))
	}
}
