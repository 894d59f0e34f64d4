package console_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// markup would run as code if it became elements of a page.
	markup = `<img src="//evil.example/x" onerror="attacked=1"><script>attacked=1</script>`
	// nestedDeeply is more levels than the functions of a browser can call each other.
	nestedDeeply = 3_000
	// longValue is the length of a value in a column.
	longValue = 500_000
)

// TestConsole_ShowsHostileObjects opens pages of objects whose author may write any text, and addresses
// that an attacker has sent. Nothing of them may become an element or code, and no object may end the page.
func TestConsole_ShowsHostileObjects(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	resource := createHostile(ctx, t, namespace)
	table, object := "/r/"+resource, "/o/"+resource+"/"+namespace+"/"
	var paths []string
	for _, tab := range []string{"summary", "yaml", "events", "relations", "history"} {
		paths = append(paths, object+"markup?tab="+tab, object+"deep?tab="+tab)
	}
	for _, query := range []string{
		"ns=" + namespace, "cols=name,__proto__,constructor,spec.deep,spec.long", "sort=__proto__", "quick=__proto__,constructor",
		"q=" + url.QueryEscape(markup), "filter=" + url.QueryEscape(`object.metadata.name == "`+markup+`"`), "ns=" + url.QueryEscape("../x"),
	} {
		paths = append(paths, table+"?"+query)
	}
	browser := startConsole(t, "hostile.mjs", append([]string{service.Address}, paths...)...)
	for range paths {
		var opened struct {
			Path     string
			Problems []string
		}
		browser.Step(ctx, "opened", &opened)
		for _, problem := range opened.Problems {
			t.Errorf("%s: %s", opened.Path, problem)
		}
	}
	browser.Ends(ctx)
}

// createHostile creates a custom resource, with objects, that an attacker has written. It returns the name
// of the resource.
func createHostile(ctx context.Context, t *testing.T, namespace string) string {
	t.Helper()
	group := namespace + ".example.com"
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "evils." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "evils", "kind": "Evil"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "description": markup,
					"properties": map[string]any{"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
				"additionalPrinterColumns": []any{
					printedColumn(markup, ".spec.text"), printedColumn("name", ".spec.__proto__"), printedColumn("__proto__", ".spec.long"),
					printedColumn("constructor", ".constructor"), printedColumn("=cmd()", ".spec.deep"),
				},
			}},
		},
	}
	api := kit.Cluster(t).Dynamic
	definitions := api.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = definitions.Delete(context.WithoutCancel(ctx), "evils."+group, metav1.DeleteOptions{}) })
	deep := any("end")
	for range nestedDeeply {
		deep = map[string]any{"a": deep}
	}
	evils := api.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "evils"}).Namespace(namespace)
	for name, spec := range map[string]map[string]any{
		"markup": {"text": markup, "__proto__": map[string]any{"polluted": markup}, "list": "not a list"},
		"deep":   {"deep": deep, "long": strings.Repeat("x", longValue)},
	} {
		evil := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Evil", "spec": spec, "status": map[string]any{"conditions": markup, "phase": []any{markup}},
			"metadata": map[string]any{"name": name, "annotations": map[string]any{"a": markup, "b": "javascript:attacked=1"}},
		}}
		kit.Eventually(ctx, t, "the resource is served", func() error {
			_, err := evils.Create(ctx, evil, metav1.CreateOptions{})
			return err
		})
	}
	return fmt.Sprintf("evils.%s", group)
}

func printedColumn(name, path string) map[string]any {
	return map[string]any{"name": name, "type": "string", "jsonPath": path}
}
