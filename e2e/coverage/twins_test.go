package coverage_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// twin is one of two equal objects: one is written through the service, the other with client-go.
type twin struct{ variables }

func (t twin) with(name, value string) twin {
	also := variables{name: value}
	for name, value := range t.variables {
		also[name] = value
	}
	return twin{also}
}

// newTwin returns a twin with an unused name.
func (w *walk) newTwin() twin {
	number := int(w.names.Add(1))
	named := variables{
		"name":      fmt.Sprintf("twin-%05d", number),
		"ip":        fmt.Sprintf("10.77.%d.%d", 100+number/100, 100+number%100),
		"namespace": w.namespace,
	}
	return twin{named}
}

func (w *walk) newTwins() [2]twin { return [2]twin{w.newTwin(), w.newTwin()} }

// prepare creates the objects that a twin needs.
func (w *walk) prepare(twin twin) {
	w.t.Helper()
	for _, needed := range w.parent.Needs {
		object := &unstructured.Unstructured{Object: twin.substitute(needed)}
		resource := row{apiResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, namespaced: true}
		params := call{verb: "create", row: resource, namespace: w.namespace, body: object.Object}
		if _, err := w.api.do(w.ctx, params); err != nil {
			w.t.Fatal(err)
		}
	}
}

// makeTwin creates a twin with client-go.
func (w *walk) makeTwin(twin twin, labels map[string]any) {
	w.t.Helper()
	w.prepare(twin)
	params := w.about("create", twin)
	params.row.subresource, params.body = "", w.object(twin, labels)
	if _, err := w.api.do(w.ctx, params); err != nil {
		w.t.Fatalf("client-go: %v; check the recipe in %s", err, recipesFile)
	}
}

// settle waits for the changes that the API server itself makes to new objects.
func (w *walk) settle(twins [2]twin) {
	w.t.Helper()
	if len(w.parent.Settles) == 0 {
		return
	}
	for _, twin := range twins {
		until(w.ctx, w.t, "the API server has set the conditions of "+twin.text(w.parent.Name), func() bool {
			return hasConditions(w.now(twin).Object, w.parent.Settles)
		})
	}
}

// hasConditions reports whether an object has conditions with these types and statuses.
func hasConditions(object map[string]any, expected map[string]string) bool {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	set := 0
	for _, condition := range conditions {
		condition := condition.(map[string]any)
		if status, ok := expected[condition["type"].(string)]; ok && status == condition["status"] {
			set++
		}
	}
	return set == len(expected)
}

// now returns a twin in its current state, or its subresource if that can be read.
func (w *walk) now(twin twin) *unstructured.Unstructured {
	w.t.Helper()
	params := w.about("get", twin)
	if !w.row.has("get") {
		params.row.subresource = ""
	}
	content, err := w.api.do(w.ctx, params)
	if err != nil {
		w.t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content.(map[string]any)}
}
