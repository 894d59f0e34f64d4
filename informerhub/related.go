package informerhub

import (
	"cmp"
	"context"
	"slices"
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
func (c *selector) relate(ctx context.Context, sel *Selection, to Related) error {
	sel.within(to.Namespace)
	if to.Owner != "" {
		sel.conditions = append(sel.conditions, condition{ownerField, ownerUIDs, []string{to.Owner}, true})
	}
	for _, wanted := range to.Fields {
		read, err := c.selectableFields.find(ctx, wanted.Field)
		if err != nil {
			return err
		}
		sel.conditions = append(sel.conditions, condition{wanted.Field, oneValue(read), wanted.Values, true})
	}
	sel.restrictTo(to.Among)
	return sel.addLabels("the other object's selector", to.LabelSelector)
}

// within limits the selection to one namespace; empty is no limit.
func (s *Selection) within(namespace string) {
	switch {
	case namespace == "" || s.namespace == namespace:
	case s.namespace == "":
		s.namespace = namespace
	default:
		s.among = []ObjectName{} // no object is in two namespaces
	}
}

// restrictTo limits the selection to named objects; nil is no limit. A single name is used as if
// the query named it.
func (s *Selection) restrictTo(names []ObjectName) {
	if names == nil || s.among != nil {
		return
	}
	s.among = append([]ObjectName{}, names...)
	slices.SortFunc(s.among, ObjectName.compare)
	if len(names) == 1 && s.name == "" && (s.namespace == "" || s.namespace == names[0].Namespace) {
		s.namespace, s.name = names[0].Namespace, names[0].Name
	}
}

// mayBeAmong reports whether an object has one of the names that the selection is limited to.
func (s *Selection) mayBeAmong(object *Object) bool {
	return s.among == nil || slices.ContainsFunc(s.among, func(name ObjectName) bool {
		return name.Namespace == object.namespace && name.Name == object.name
	})
}

// isAmong reports whether an object is one of those that the selection is limited to.
func (s *Selection) isAmong(object *Object) bool {
	return s.among == nil || slices.Contains(s.among, ObjectName{object.namespace, object.name, object.uid})
}
