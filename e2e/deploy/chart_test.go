package deploy_test

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chartDir = root + "/deploy/kubeconnect"
	notes    = "NOTES.txt"
)

type (
	values   = map[string]any
	manifest = *unstructured.Unstructured
)

// required returns the values without which the chart cannot be installed.
func required() values {
	return values{
		"image": values{"repository": "images.example/kubeconnect"},
		"tls":   values{"secretName": "kubeconnect-tls"},
	}
}

// with returns the required values merged with others, which take precedence.
func with(others values) values {
	return chartutil.MergeTables(maps.Clone(others), required())
}

// release is an installation of the chart.
type release struct {
	name, namespace string
	values          values
}

// files renders the chart, by the names of its templates.
func (r release) files() (map[string]string, error) {
	chart, err := loadChart()
	if err != nil {
		return nil, err
	}
	return r.filesOf(chart)
}

func loadChart() (*chart.Chart, error) { return loader.Load(chartDir) }

func (r release) filesOf(chart *chart.Chart) (map[string]string, error) {
	options := chartutil.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}
	rendered, err := chartutil.ToRenderValues(chart, r.values, options, nil)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, rendered)
}

// manifests renders the chart.
func (r release) manifests(t *testing.T) []manifest {
	t.Helper()
	chart, err := loadChart()
	succeeds(t, err)
	return r.manifestsOf(t, chart)
}

func (r release) manifestsOf(t *testing.T, chart *chart.Chart) (all []manifest) {
	t.Helper()
	files, err := r.filesOf(chart)
	succeeds(t, err)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Base(name) != notes {
			all = append(all, parse(t, files[name])...)
		}
	}
	return all
}

func parse(t *testing.T, text string) (all []manifest) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return all
		}
		succeeds(t, err)
		if len(object) > 0 {
			all = append(all, &unstructured.Unstructured{Object: object})
		}
	}
}

// into converts a manifest to a typed object.
func into[T any](t *testing.T, from manifest) *T {
	t.Helper()
	object := new(T)
	succeeds(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(from.Object, object, true))
	return object
}

// ofKind returns the manifests of a kind, typed.
func ofKind[T any](t *testing.T, all []manifest, kind string) (found []*T) {
	t.Helper()
	for _, one := range all {
		if one.GetKind() == kind {
			found = append(found, into[T](t, one))
		}
	}
	return found
}
