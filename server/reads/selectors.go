package reads

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// withSelector has the fields in which objects contain their own selector.
type withSelector struct {
	Spec struct {
		Selector    json.RawMessage `json:"selector"`
		PodSelector json.RawMessage `json:"podSelector"`
	} `json:"spec"`
	Status struct {
		Selector json.RawMessage `json:"selector"`
	} `json:"status"`
}

// readSelector parses a kind's selector. It returns nil if the object has none.
type readSelector func(withSelector) (labels.Selector, error)

// builtInSelectors parse the selectors of the built-in kinds that have one.
var builtInSelectors = map[schema.GroupResource]readSelector{
	{Resource: "services"}:                                    plainSelector,
	{Resource: "replicationcontrollers"}:                      plainSelector,
	{Group: "apps", Resource: "deployments"}:                  specSelector,
	{Group: "apps", Resource: "replicasets"}:                  specSelector,
	{Group: "apps", Resource: "statefulsets"}:                 specSelector,
	{Group: "apps", Resource: "daemonsets"}:                   specSelector,
	{Group: "batch", Resource: "jobs"}:                        specSelector,
	{Group: "policy", Resource: "poddisruptionbudgets"}:       specSelector,
	{Group: "networking.k8s.io", Resource: "networkpolicies"}: podSelector,
}

// selectorOf returns the function that parses the selectors of a resource; nil if its objects have
// none. A built-in kind that is not listed above has no selector. A custom kind may have a selector.
func selectorOf(resource informerhub.Resource) readSelector {
	read, ok := builtInSelectors[resource.GroupResource()]
	if !ok && !resource.BuiltIn() {
		return customSelector
	}
	return read
}

// ownSelector returns an object's own selector, in kubectl's syntax.
func ownSelector(resource informerhub.Resource, object *informerhub.Object) (string, error) {
	read := selectorOf(resource)
	if read == nil {
		return "", apierror.BadRequest("related.type SELECTED_BY: %s have no selector", resource.Name)
	}
	text, err := object.JSON()
	if err != nil {
		return "", err
	}
	selector, err := read.parse(text)
	switch {
	case err != nil:
		return "", apierror.BadRequest("related.type SELECTED_BY: %s %q has an invalid selector: %v", resource.Name, object.Name(), err)
	case selector == nil:
		return "", apierror.BadRequest("related.type SELECTED_BY: %s %q has no selector and selects nothing", resource.Name, object.Name())
	}
	return selector.String(), nil
}

// parse parses the selector in the JSON of an object. It returns nil if the object has none.
func (r readSelector) parse(text []byte) (labels.Selector, error) {
	var content withSelector
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	return r(content)
}

// plainSelector parses a map of labels. An empty map selects nothing.
func plainSelector(content withSelector) (labels.Selector, error) {
	var selector labels.Set
	if err := decode(content.Spec.Selector, &selector); err != nil || len(selector) == 0 {
		return nil, err
	}
	return labels.ValidatedSelectorFromSet(selector)
}

// specSelector parses a label selector in spec.selector. An empty selector selects everything.
func specSelector(content withSelector) (labels.Selector, error) {
	return labelSelector(content.Spec.Selector)
}

// podSelector parses a label selector in spec.podSelector. An empty or missing selector selects
// everything.
func podSelector(content withSelector) (labels.Selector, error) {
	selector, err := labelSelector(content.Spec.PodSelector)
	if selector == nil && err == nil {
		selector = labels.Everything()
	}
	return selector, err
}

// customSelector parses the selector of custom kinds by convention: a selector in their spec or, as
// a string, in their status, for the scale subresource.
func customSelector(content withSelector) (labels.Selector, error) {
	selector, err := labelSelector(content.Spec.Selector)
	var text string
	if selector != nil || decode(content.Status.Selector, &text) != nil || text == "" {
		return selector, err
	}
	return labels.Parse(text)
}

// labelSelector parses a label selector in the form of the API. It returns nil if the object has none.
func labelSelector(text json.RawMessage) (labels.Selector, error) {
	var selector *metav1.LabelSelector
	if err := decode(text, &selector); err != nil || selector == nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// decode parses JSON that has no unknown fields. It does nothing if text is empty. With an unknown field, a selector of a custom
// kind has another form, and what is known of it would select other objects.
func decode(text json.RawMessage, target any) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target)
}
