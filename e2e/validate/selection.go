package validate

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Selection is the selection of a watch. The zero value selects everything.
type Selection struct {
	// Namespace and Name select the objects; empty selects any.
	Namespace, Name string
	// Labels and Fields are the selectors; nil selects any.
	Labels labels.Selector
	Fields fields.Selector
	// Filter is evaluated on the content that was written; nil selects any.
	Filter func(content map[string]any) bool
	// Related is the relation to another object; nil selects any. SelectionOf does not set it, because a
	// request only names the other object.
	Related func(Write) bool
	// View is the requested part of the objects.
	View View
}

// SelectionOf returns the selection of a request. It parses selectors as the API server does.
func SelectionOf(request *kubeconnectv1.WatchRequest) (Selection, error) {
	byLabels, err := labels.Parse(request.GetLabelSelector())
	if err != nil {
		return Selection{}, err
	}
	byFields, err := fields.ParseSelector(request.GetFieldSelector())
	if err != nil {
		return Selection{}, err
	}
	filter, err := filterOf(request.GetFilter())
	if err != nil {
		return Selection{}, err
	}
	view, err := viewOf(request)
	if err != nil {
		return Selection{}, err
	}
	return Selection{
		Namespace: request.GetNamespace(), Name: request.GetName(), Labels: byLabels, Fields: byFields, Filter: filter, View: view,
	}, nil
}

// holds reports whether the selection matches a written state.
func (s Selection) holds(w Write) bool {
	switch {
	case w.Deleted,
		s.Namespace != "" && s.Namespace != w.Key.Namespace,
		s.Name != "" && s.Name != w.Key.Name:
		return false
	}
	return (s.Labels == nil || s.Labels.Matches(labels.Set(w.Labels))) &&
		(s.Fields == nil || s.Fields.Matches(w.fields())) &&
		(s.Filter == nil || s.Filter(w.Content)) &&
		(s.Related == nil || s.Related(w))
}

// OwnedBy selects the objects of a namespace that have an owner with a UID.
func OwnedBy(namespace, uid string) func(Write) bool {
	return func(w Write) bool {
		owners, _ := memberOf(w.Content, "metadata", "ownerReferences")
		list, _ := owners.([]any)
		return w.Key.Namespace == namespace && slices.ContainsFunc(list, func(owner any) bool {
			return textIn(map[string]any{"owner": owner}, "owner", "uid") == uid
		})
	}
}

// Among selects the objects with one of the UIDs.
func Among(uids ...string) func(Write) bool {
	return func(w Write) bool { return slices.Contains(uids, w.UID) }
}

// SelectedBy selects the objects of a namespace that have labels.
func SelectedBy(namespace string, having labels.Set) func(Write) bool {
	selector := labels.SelectorFromSet(having)
	return func(w Write) bool { return w.Key.Namespace == namespace && selector.Matches(labels.Set(w.Labels)) }
}

// fields returns the fields that a field selector may name, including the metadata fields of every
// kind.
func (w Write) fields() fields.Set {
	set := fields.Set{"metadata.name": w.Key.Name, "metadata.namespace": w.Key.Namespace}
	for name, value := range w.Fields {
		set[name] = value
	}
	return set
}
