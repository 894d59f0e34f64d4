package informerhub

import (
	"cmp"
	"context"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Related limits a query to objects that are related to another object, by properties of that
// object. The zero value is no limit. The given conditions must all match.
type Related struct {
	// Namespace is the namespace of the related objects; empty is any.
	Namespace string
	// Owner is the UID of one of their owners.
	Owner string
	// LabelSelector is the other object's own selector, in kubectl's syntax.
	LabelSelector string
	// Fields are values of selectable fields of the related objects.
	Fields []FieldValues
	// Among are the names of the related objects. Nil is no limit, and empty selects nothing.
	Among []ObjectName
}

// FieldValues is a condition on a selectable field: it must have one of the values.
type FieldValues struct {
	Field  string
	Values []string
}

// ObjectName is the name of one object.
type ObjectName struct {
	Namespace, Name, UID string
}

func (n ObjectName) compare(other ObjectName) int {
	return cmp.Or(cmp.Compare(n.Namespace, other.Namespace), cmp.Compare(n.Name, other.Name))
}

// relate limits a selection to objects that are related to another object.
func (c *selector) relate(ctx context.Context, sel *Selection, related Related) error {
	sel.limitToNamespace(related.Namespace)
	if related.Owner != "" {
		sel.conditions = append(sel.conditions, object.Condition{Field: object.OwnerField, Reader: object.OwnerUIDs, Values: []string{related.Owner}, Equal: true})
	}
	for _, field := range related.Fields {
		read, err := c.selectableFields.Find(ctx, field.Field)
		if err != nil {
			return err
		}
		sel.conditions = append(sel.conditions, object.Condition{Field: field.Field, Reader: object.OneValue(read), Values: field.Values, Equal: true})
	}
	sel.limitToNames(related.Among)
	return sel.addLabels("the other object's selector", related.LabelSelector)
}

// limitToNamespace limits the selection to one namespace; empty is no limit.
func (s *Selection) limitToNamespace(namespace string) {
	switch {
	case namespace == "" || s.namespace == namespace:
	case s.namespace == "":
		s.namespace = namespace
	default:
		s.onlyNames = []ObjectName{} // no object is in two namespaces
	}
}

// limitToNames limits the selection to named objects; nil is no limit. A single name is used as if
// the query named it.
func (s *Selection) limitToNames(names []ObjectName) {
	if names == nil || s.onlyNames != nil {
		return
	}
	s.onlyNames = append([]ObjectName{}, names...)
	slices.SortFunc(s.onlyNames, ObjectName.compare)
	if len(names) == 1 && s.name == "" && (s.namespace == "" || s.namespace == names[0].Namespace) {
		s.namespace, s.name = names[0].Namespace, names[0].Name
	}
}

// mayBeNamed reports whether an object has one of the names that the selection is limited to.
func (s *Selection) mayBeNamed(object *Object) bool {
	return s.onlyNames == nil || slices.ContainsFunc(s.onlyNames, func(name ObjectName) bool {
		return name.Namespace == object.Namespace() && name.Name == object.Name()
	})
}

// isNamed reports whether an object is one of those that the selection is limited to.
func (s *Selection) isNamed(object *Object) bool {
	return s.onlyNames == nil || slices.Contains(s.onlyNames, ObjectName{object.Namespace(), object.Name(), object.UID()})
}
