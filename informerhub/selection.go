package informerhub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// Query is a selection as a caller writes it. Conditions that are left out
// select everything; those that are given must all hold.
type Query struct {
	Namespace     string
	Name          string
	LabelSelector string // in kubectl's syntax
	FieldSelector string // in kubectl's syntax
	// Namespaces restricts the others: nothing of another namespace is selected. Nil is
	// no restriction, and empty selects nothing.
	Namespaces []string
	// Related restricts them to what has to do with another object.
	Related Related
	// Filter is an expression that must be true; nil is none.
	Filter *filter.Filter
	// Fields are what is told of the objects; nil is everything. They select no objects,
	// but changes: a watcher is not told of one that is none under the mask.
	Fields *mask.Mask
}

// Selection is a query that has been understood. It is immutable and may be
// shared.
type Selection struct {
	namespaced   bool // the resource
	namespace    string
	name         string
	restricted   bool     // to these:
	namespaces   []string // in order
	requirements labels.Requirements
	conditions   []condition
	among        []ObjectName // in order; nil is no restriction
	filter       *filter.Filter
	fields       *mask.Mask
	lookups      []*lookup // that find some of what the conditions want
	interest     interest  // what a watcher of it is woken for
	interestBy   fieldReader
	scope        interest // the same, whatever an object is like
	key          string   // equal for selections of one resource that are the same
}

// What a selection may have, for each object is held against all of it. Requirements and
// values are those of labels and fields together, each counted once.
const (
	maxSelectorBytes  = 64 << 10
	maxRequirements   = 100
	maxSelectedValues = 1000
)

// Select understands a query for this cache's resource. A malformed selector, or
// a field that the API server does not support for it, is a BadRequest error; for
// the latter the API server may be asked once for each field.
func (c *Cache) Select(ctx context.Context, query Query) (*Selection, error) {
	sel, err := c.understand(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := c.index(ctx, sel); err != nil {
		return nil, err
	}
	return sel, nil
}

// selector understands queries for a resource.
type selector struct {
	resource         Resource
	selectableFields *selectableFields
}

func (c *selector) understand(ctx context.Context, query Query) (*Selection, error) {
	if query.Namespace != "" && !c.resource.Namespaced {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"%s have no namespaces: leave the namespace out", c.resource.Name))
	}
	if query.Namespaces != nil && !c.resource.Namespaced {
		return nil, fmt.Errorf("%s have no namespaces to be restricted to", c.resource.Name)
	}
	if err := checkSelectors(query); err != nil {
		return nil, err
	}
	query.LabelSelector, query.Related.LabelSelector = distinctTerms(query.LabelSelector), distinctTerms(query.Related.LabelSelector)
	sel := &Selection{
		namespaced: c.resource.Namespaced,
		namespace:  query.Namespace,
		name:       query.Name,
		filter:     query.Filter,
		fields:     query.Fields,
		key:        fmt.Sprintf("%q %t", query, query.Namespaces != nil),
	}
	sel.restrict(query.Namespaces)
	if err := c.relate(ctx, sel, query.Related); err != nil {
		return nil, err
	}
	if err := sel.addLabels("label_selector", query.LabelSelector); err != nil {
		return nil, err
	}
	if err := c.addFields(ctx, sel, query.FieldSelector); err != nil {
		return nil, err
	}
	sel.lookups = lookupsOf(sel)
	sel.scope = scopeInterest(sel)
	sel.interest, sel.interestBy = narrowestInterest(sel)
	return sel, nil
}

func checkSelectors(query Query) error {
	if max(len(query.LabelSelector), len(query.FieldSelector), len(query.Related.LabelSelector)) > maxSelectorBytes {
		return apierrors.NewBadRequest(fmt.Sprintf("a selector may have %d bytes at most", maxSelectorBytes))
	}
	return nil
}

// distinctTerms returns a label selector without the terms that it has already. A term ends at a
// comma outside parentheses.
func distinctTerms(selector string) string {
	seen, kept, inside, begin := make(map[string]bool), make([]string, 0, 1), false, 0
	for i := 0; i <= len(selector); i++ {
		switch {
		case i == len(selector), selector[i] == ',' && !inside:
			term := strings.TrimSpace(selector[begin:i])
			if !seen[term] {
				kept = append(kept, term)
			}
			seen[term] = term != "" // an empty one is an error, which it remains
			begin = i + 1
		case selector[i] == '(', selector[i] == ')':
			inside = selector[i] == '('
		}
	}
	return strings.Join(kept, ",")
}

// checkSize refuses a selection of too many requirements; so many of fields are yet to be added.
func (s *Selection) checkSize(ofFields int) error {
	values := ofFields
	for _, requirement := range s.requirements {
		values += len(requirement.ValuesUnsorted())
	}
	for _, c := range s.conditions {
		values += len(c.wants)
	}
	if count := len(s.requirements) + len(s.conditions) + ofFields; count > maxRequirements {
		return apierrors.NewBadRequest(fmt.Sprintf("the selectors have %d requirements, and may have %d at most: select by fewer labels and fields",
			count, maxRequirements))
	}
	if values > maxSelectedValues {
		return apierrors.NewBadRequest(fmt.Sprintf("the selectors have %d values, and may have %d at most: select by fewer values",
			values, maxSelectedValues))
	}
	return nil
}

// restrict leaves nothing but some namespaces; nil is no restriction. One alone is used
// as if it had been asked for.
func (s *Selection) restrict(namespaces []string) {
	if namespaces == nil {
		return
	}
	s.restricted, s.namespaces = true, slices.Compact(slices.Sorted(slices.Values(namespaces)))
	if len(namespaces) == 1 && s.namespace == "" {
		s.namespace = namespaces[0]
	}
}

// addLabels adds the requirements of a label selector. What may not be selected by is refused before it is
// parsed, which takes a hundred times as long as counting it.
func (s *Selection) addLabels(name, text string) error {
	if strings.Count(text, ",") >= maxRequirements+maxSelectedValues {
		return apierrors.NewBadRequest(fmt.Sprintf("%s: selectors may have %d requirements and %d values at most: select by fewer labels",
			name, maxRequirements, maxSelectedValues))
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s %q: %v", name, text, err))
	}
	requirements, _ := selector.Requirements()
	known := make(map[string]bool)
	for _, requirement := range s.requirements {
		known[requirement.String()] = true
	}
	for _, requirement := range requirements {
		if text := requirement.String(); !known[text] {
			known[text] = true
			s.requirements = append(s.requirements, requirement)
		}
	}
	return nil
}

func (c *selector) addFields(ctx context.Context, sel *Selection, text string) error {
	selector, err := fields.ParseSelector(text)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("field_selector %q: %v", text, err))
	}
	requirements := distinct(selector.Requirements())
	if err := sel.checkSize(len(requirements)); err != nil {
		return err // before the API server is asked for fields
	}
	for _, requirement := range requirements {
		read, err := c.selectableFields.find(ctx, requirement.Field)
		if err != nil {
			return err
		}
		sel.conditions = append(sel.conditions, condition{
			field: requirement.Field,
			reads: oneValue(read),
			wants: []string{requirement.Value},
			equal: requirement.Operator != selection.NotEquals,
		})
		sel.narrow(requirement)
	}
	return nil
}

// distinct drops requirements that come again.
func distinct(requirements fields.Requirements) (kept fields.Requirements) {
	known := make(map[fields.Requirement]bool)
	for _, requirement := range requirements {
		if !known[requirement] {
			known[requirement] = true
			kept = append(kept, requirement)
		}
	}
	return kept
}

// narrow uses a condition on the name or namespace as if it had been asked for
// as such, so that the store need not look at everything. The condition stays.
func (s *Selection) narrow(requirement fields.Requirement) {
	if requirement.Operator == selection.NotEquals || requirement.Value == "" {
		return
	}
	switch {
	case requirement.Field == "metadata.name" && s.name == "":
		s.name = requirement.Value
	case requirement.Field == "metadata.namespace" && s.namespace == "" && s.namespaced:
		s.namespace = requirement.Value
	}
}

func (s *Selection) everything() bool {
	return !s.restricted && s.namespace == "" && s.name == "" && len(s.requirements) == 0 && len(s.conditions) == 0 &&
		s.among == nil && s.filter == nil
}

// names reports whether the selection can hold an object under that name at all.
func (s *Selection) names(object *Object) bool {
	return (s.namespace == "" || s.namespace == object.namespace) &&
		(s.name == "" || s.name == object.name) &&
		s.reaches(object.namespace) && s.mayBeAmong(object)
}

// reaches reports whether a namespace is one of those that the selection is restricted to.
func (s *Selection) reaches(namespace string) bool {
	if !s.restricted {
		return true
	}
	_, found := slices.BinarySearch(s.namespaces, namespace)
	return found
}

// Matches reports whether the selection holds an object. With a filter it may take a
// millisecond or two: call it without a lock.
func (s *Selection) Matches(object *Object) bool {
	return s.selects(object) && s.passes(object)
}

// selects is Matches without the filter.
func (s *Selection) selects(object *Object) bool {
	if !s.names(object) || !s.isAmong(object) {
		return false
	}
	for i := range s.requirements {
		if !s.requirements[i].Matches(object.labels) {
			return false
		}
	}
	for _, c := range s.conditions {
		if !c.meets(object) {
			return false
		}
	}
	return true
}
