package server

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// withSelector is where kinds keep the selector of their own.
type withSelector struct {
	Spec struct {
		Selector    json.RawMessage `json:"selector"`
		PodSelector json.RawMessage `json:"podSelector"`
	} `json:"spec"`
	Status struct {
		Selector json.RawMessage `json:"selector"`
	} `json:"status"`
}

// readSelector reads a kind's selector; nil if the object has none.
type readSelector func(withSelector) (labels.Selector, error)

// builtInSelectors are those of the built-in kinds that have one.
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

// ownSelector is an object's own selector, in kubectl's syntax.
func ownSelector(resource informerhub.Resource, object *informerhub.Object) (string, error) {
	read, ok := builtInSelectors[resource.GroupResource()]
	switch {
	case ok:
	case resource.BuiltIn():
		return "", badRequest("related.type SELECTED_BY: %s have no selector", resource.Name)
	default:
		read = customSelector
	}
	text, err := object.JSON()
	if err != nil {
		return "", err
	}
	var content withSelector
	if err := json.Unmarshal(text, &content); err != nil {
		return "", badRequest("related.type SELECTED_BY: %s %q has no selector that can be read: %v", resource.Name, object.Name(), err)
	}
	selector, err := read(content)
	switch {
	case err != nil:
		return "", badRequest("related.type SELECTED_BY: %s %q has no selector that can be read: %v", resource.Name, object.Name(), err)
	case selector == nil:
		return "", badRequest("related.type SELECTED_BY: %s %q has no selector, and selects nothing", resource.Name, object.Name())
	}
	return selector.String(), nil
}

// plainSelector is a map of labels. One that is empty selects nothing.
func plainSelector(content withSelector) (labels.Selector, error) {
	var wanted labels.Set
	if err := decode(content.Spec.Selector, &wanted); err != nil || len(wanted) == 0 {
		return nil, err
	}
	return labels.ValidatedSelectorFromSet(wanted)
}

// specSelector selects everything if it is there and empty.
func specSelector(content withSelector) (labels.Selector, error) {
	return labelSelector(content.Spec.Selector)
}

// podSelector selects everything even where it is not there.
func podSelector(content withSelector) (labels.Selector, error) {
	selector, err := labelSelector(content.Spec.PodSelector)
	if selector == nil && err == nil {
		selector = labels.Everything()
	}
	return selector, err
}

// customSelector is what custom kinds have by convention: a selector in their spec, or in
// their status, as text, for the scale subresource.
func customSelector(content withSelector) (labels.Selector, error) {
	selector, err := labelSelector(content.Spec.Selector)
	var text string
	if selector != nil || decode(content.Status.Selector, &text) != nil || text == "" {
		return selector, err
	}
	return labels.Parse(text)
}

func labelSelector(text json.RawMessage) (labels.Selector, error) {
	var selector *metav1.LabelSelector
	if err := decode(text, &selector); err != nil || selector == nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// decode reads JSON that has no other members than the value has; nothing if there is none.
func decode(text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
