package informerhub

import (
	"cmp"
	"context"
	"slices"
)

// Related restricts a query to objects that have to do with another one, by what is known
// of that one. The zero value is no restriction; what is given must all hold.
type Related struct {
	// Namespace is where they are; empty is anywhere.
	Namespace string
	// Owner is the UID of one of their owners.
	Owner string
	// LabelSelector is the other object's own, in kubectl's syntax.
	LabelSelector string
	// Fields are values that some of their selectable fields must have.
	Fields []FieldValues
	// Among names them. Nil is no restriction, and empty selects nothing.
	Among []ObjectName
}

// FieldValues says that a selectable field must have one of some values.
type FieldValues struct {
	Field  string
	Values []string
}

// ObjectName names one object.
type ObjectName struct {
	Namespace, Name, UID string
}

func (n ObjectName) compare(other ObjectName) int {
	return cmp.Or(cmp.Compare(n.Namespace, other.Namespace), cmp.Compare(n.Name, other.Name))
}

// relate has a selection hold nothing but what has to do with another object.
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

// within leaves nothing but one namespace; empty is no restriction.
func (s *Selection) within(namespace string) {
	switch {
	case namespace == "" || s.namespace == namespace:
	case s.namespace == "":
		s.namespace = namespace
	default:
		s.among = []ObjectName{} // nothing is in two namespaces
	}
}

// restrictTo leaves nothing but some objects; nil is no restriction. One alone is used as
// if it had been asked for.
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

// mayBeAmong reports whether an object has the name of one that the selection is
// restricted to.
func (s *Selection) mayBeAmong(object *Object) bool {
	return s.among == nil || slices.ContainsFunc(s.among, func(name ObjectName) bool {
		return name.Namespace == object.namespace && name.Name == object.name
	})
}

// isAmong reports whether an object is one of those that the selection is restricted to.
func (s *Selection) isAmong(object *Object) bool {
	return s.among == nil || slices.Contains(s.among, ObjectName{object.namespace, object.name, object.uid})
}
