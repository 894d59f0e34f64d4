package traffic

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// Resource is a resource that writers write.
type Resource struct {
	// Of is the resource and Kind the kind of its objects.
	Of   schema.GroupVersionResource
	Kind string
	// Field is a selectable field below spec, whose value is one of Words; empty if there is none.
	Field string
	// Expires reports that the API server deletes the objects after a while.
	Expires bool

	// Owners are objects, one of each namespace, that own some of the objects, some of the time.
	Owners map[string]metav1.OwnerReference

	owner string // the value of ownerLabel of objects with labels
}

// ConfigMaps is a built-in resource.
var ConfigMaps = Resource{Of: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap"}

// Words are the values of labels and fields. A label may also be missing.
var Words = []string{"red", "green", "blue"}

// Label is the label that changes.
const Label = "color"

// ownerLabel has the first namespace of the traffic as its value.
const ownerLabel = "traffic"

// Selector returns a label selector for the objects with labels that one traffic writes, given its
// first namespace. In all namespaces, Label alone also selects the objects of other traffic.
func Selector(namespace string) string { return ownerLabel + "=" + namespace }

// Name returns the resource in the syntax of requests.
func (r Resource) Name() string { return r.Of.GroupResource().String() }

// make returns a new object of this resource.
func (r Resource) make(key validate.Key, rnd *rand.Rand) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(r.Of.GroupVersion().String())
	object.SetKind(r.Kind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	r.relabel(object, rnd)
	r.touch(object, rnd)
	return object
}

// touch makes a small change that selectors can see: it changes the field, if there is one.
func (r Resource) touch(object *unstructured.Unstructured, rnd *rand.Rand) {
	content, values := "data", map[string]any{"number": fmt.Sprint(rnd.Uint64()), "color": word(rnd)}
	if r.Field != "" {
		content, values[r.Field] = "spec", word(rnd)
	}
	if r.Expires {
		object.Object["involvedObject"] = map[string]any{"namespace": object.GetNamespace(), "name": "traffic"}
		content, values = "source", map[string]any{"component": word(rnd)}
	}
	object.Object[content] = values
}

// relabel changes the label of an object, or removes it, and so it does with its owner.
func (r Resource) relabel(object *unstructured.Unstructured, rnd *rand.Rand) {
	object.SetOwnerReferences(nil)
	if owner, ok := r.Owners[object.GetNamespace()]; ok && rnd.IntN(2) == 0 {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
	}
	if rnd.IntN(len(Words)+1) == 0 {
		object.SetLabels(nil)
		return
	}
	object.SetLabels(map[string]string{Label: word(rnd), ownerLabel: r.owner})
}

func word(rnd *rand.Rand) string { return Words[rnd.IntN(len(Words))] }

// write returns the recorded state of an object that the API server has just returned.
func (r Resource) write(object *unstructured.Unstructured) validate.Write {
	write := validate.Write{
		Key:     validate.Key{Namespace: object.GetNamespace(), Name: object.GetName()},
		UID:     string(object.GetUID()),
		Labels:  object.GetLabels(),
		Version: object.GetResourceVersion(),
		Acked:   time.Now(),
	}
	write.Content = object.DeepCopy().Object
	unstructured.RemoveNestedField(write.Content, "metadata", "managedFields")
	if r.Field != "" {
		value, _, _ := unstructured.NestedString(object.Object, "spec", r.Field)
		write.Fields = map[string]string{"spec." + r.Field: value}
	}
	return write
}
