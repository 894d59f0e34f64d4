package informerhub

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
)

// Query is a selection in the terms of a caller. Empty conditions select everything. The given
// conditions must all match.
type Query struct {
	Namespace     string
	Name          string
	LabelSelector string // in kubectl's syntax
	FieldSelector string // in kubectl's syntax
	// Namespaces limits the selection to objects in these namespaces. Nil is no limit, and empty
	// selects nothing.
	Namespaces []string
	// Related limits the selection to objects that are related to another object.
	Related Related
	// Filter is an expression that must be true; nil is none.
	Filter *filter.Filter
	// Fields are the fields of the objects that are delivered; nil is all. They do not select
	// objects, but changes: a watcher receives no event for a change that does not touch them.
	Fields *mask.Mask
}

// Selection is a parsed query. It is immutable, and may be shared by readers of the cache that made
// it. Other caches reject it with ErrForeignSelection.
type Selection struct {
	cache        *scopeCache  // that made it; nil if none did
	of           *Cache       // the cache of parts
	parts        []*Selection // the same selection in each scope of the cache that made it; nil if none did
	namespaced   bool         // of the resource
	namespace    string
	name         string
	limited      bool     // to namespaces
	namespaces   []string // in order
	requirements labels.Requirements
	conditions   []object.Condition
	onlyNames    []ObjectName // in order; nil is no limit
	filter       *filter.Filter
	fields       *mask.Mask
	lookups      []*lookup // indexes for some of the conditions
	indexKey     indexKey  // index key of its watchers
	indexReader  object.FieldReader
	scopeKey     indexKey // index key that does not depend on the content of objects
	key          func() SelectionKey
}

// Limits of a selection. They exist because every object is matched against all of it. Requirements
// and values are those of labels and fields together, each counted once.
const (
	maxSelectorBytes  = 64 << 10
	maxRequirements   = 100
	maxSelectedValues = 1000
)

// selector parses the queries of a resource.
type selector struct {
	resource         Resource
	selectableFields fieldFinder
}

// fieldFinder finds the function that reads a selectable field from an object. It is a
// [SelectableFields], except in tests.
type fieldFinder interface {
	Find(ctx context.Context, field string) (func(*Object) string, error)
}

func (c *selector) parse(ctx context.Context, query Query) (*Selection, error) {
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
	query.LabelSelector = distinctTerms(query.LabelSelector)
	query.Related.LabelSelector = distinctTerms(query.Related.LabelSelector)
	sel := &Selection{
		namespaced: c.resource.Namespaced,
		namespace:  query.Namespace,
		name:       query.Name,
		filter:     query.Filter,
		fields:     query.Fields,
	}
	sel.limitToNamespaces(query.Namespaces)
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
	sel.scopeKey = scopeKey(sel)
	sel.indexKey, sel.indexReader = narrowestKey(sel)
	sel.key = sync.OnceValue(sel.makeKey)
	return sel, nil
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
		read, err := c.selectableFields.Find(ctx, requirement.Field)
		if err != nil {
			return err
		}
		sel.conditions = append(sel.conditions, object.Condition{
			Field:  requirement.Field,
			Reader: object.OneValue(read),
			Values: []string{requirement.Value},
			Equal:  requirement.Operator != selection.NotEquals,
		})
		sel.useNameCondition(requirement)
	}
	return nil
}

func checkSelectors(query Query) error {
	if max(len(query.LabelSelector), len(query.FieldSelector), len(query.Related.LabelSelector)) > maxSelectorBytes {
		return apierrors.NewBadRequest(fmt.Sprintf("a selector may have %d bytes at most", maxSelectorBytes))
	}
	return nil
}

// distinctTerms returns a label selector without repeated terms. A term ends at a comma outside
// parentheses.
func distinctTerms(selector string) string {
	seen, kept, inside, begin := make(map[string]bool), make([]string, 0, 1), false, 0
	for i := 0; i <= len(selector); i++ {
		switch {
		case i == len(selector), selector[i] == ',' && !inside:
			term := strings.TrimSpace(selector[begin:i])
			if !seen[term] {
				kept = append(kept, term)
			}
			seen[term] = term != "" // an empty term is an error, and remains one
			begin = i + 1
		case selector[i] == '(', selector[i] == ')':
			inside = selector[i] == '('
		}
	}
	return strings.Join(kept, ",")
}

// checkSize rejects a selection with too many requirements. fieldRequirements requirements of
// fields are not added yet, and are counted too.
func (s *Selection) checkSize(fieldRequirements int) error {
	values := fieldRequirements
	for _, requirement := range s.requirements {
		values += len(requirement.ValuesUnsorted())
	}
	for _, c := range s.conditions {
		values += len(c.Values)
	}
	if count := len(s.requirements) + len(s.conditions) + fieldRequirements; count > maxRequirements {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the selectors have %d requirements, and may have %d at most: select by fewer labels and fields",
			count, maxRequirements))
	}
	if values > maxSelectedValues {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the selectors have %d values, and may have %d at most: select by fewer values",
			values, maxSelectedValues))
	}
	return nil
}

// limitToNamespaces limits the selection to namespaces; nil is no limit. A single namespace is used
// as if the query named it.
func (s *Selection) limitToNamespaces(namespaces []string) {
	if namespaces == nil {
		return
	}
	s.limited, s.namespaces = true, slices.Compact(slices.Sorted(slices.Values(namespaces)))
	if len(namespaces) == 1 && s.namespace == "" {
		s.namespace = namespaces[0]
	}
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

// addLabels adds the requirements of a label selector. A selector that is certainly too large is
// rejected before it is parsed, because parsing takes a hundred times as long as counting.
func (s *Selection) addLabels(name, text string) error {
	if strings.Count(text, ",") >= maxRequirements+maxSelectedValues {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"%s: selectors may have %d requirements and %d values at most: select by fewer labels",
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

// distinct drops repeated requirements.
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

// useNameCondition uses a condition on the name or namespace as if the query named it, so that
// fewer objects are examined. The condition stays.
func (s *Selection) useNameCondition(requirement fields.Requirement) {
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

// SelectionKey identifies a selection of one cache: selections with equal keys contain the same
// objects, with the same fields. It is comparable.
type SelectionKey struct {
	content unique.Handle[selectionContent]
}

// selectionContent has a comparable value of each field of a Selection that decides which objects
// the selection contains, and what of them is delivered. No limit and an empty limit differ in it.
type selectionContent struct {
	namespace, name string
	limited         bool
	namespaces      listkey.Key[string]
	requirements    listkey.Key[requirementKey]
	conditions      listkey.Key[conditionKey]
	onlyNames       listkey.Key[ObjectName]
	filter          *filter.Filter // equal texts share a filter while a stream uses it
	fields          mask.Key
}

type requirementKey struct {
	label    string
	operator selection.Operator
	values   listkey.Key[string]
}

// conditionKey identifies a condition. In one cache, a field is read in one way.
type conditionKey struct {
	field  string
	values listkey.Key[string]
	equal  bool
}

// Cache returns the cache that made the selection; nil if none did.
func (s *Selection) Cache() *Cache { return s.of }

// Key returns the key of the selection. It is made at the first call.
func (s *Selection) Key() SelectionKey { return s.key() }

func (s *Selection) makeKey() SelectionKey {
	return SelectionKey{unique.Make(selectionContent{
		namespace: s.namespace, name: s.name, limited: s.limited,
		namespaces: listkey.Of(s.namespaces),
		requirements: listkey.OfFunc(s.requirements, func(r labels.Requirement) requirementKey {
			return requirementKey{r.Key(), r.Operator(), listkey.Of(r.Values().List())}
		}),
		conditions: listkey.OfFunc(s.conditions, func(c object.Condition) conditionKey {
			return conditionKey{c.Field, listkey.Of(c.Values), c.Equal}
		}),
		onlyNames: listkey.Of(s.onlyNames),
		filter:    s.filter,
		fields:    s.fields.Key(),
	})}
}

func (s *Selection) selectsAll() bool {
	return !s.limited && s.namespace == "" && s.name == "" && len(s.requirements) == 0 && len(s.conditions) == 0 &&
		s.onlyNames == nil && s.filter == nil
}

// canContain reports whether the selection can contain an object with that name at all.
func (s *Selection) canContain(object *Object) bool {
	return (s.namespace == "" || s.namespace == object.Namespace()) &&
		(s.name == "" || s.name == object.Name()) &&
		s.includesNamespace(object.Namespace()) && s.mayBeNamed(object)
}

// includesNamespace reports whether the selection includes a namespace.
func (s *Selection) includesNamespace(namespace string) bool {
	if !s.limited {
		return true
	}
	_, found := slices.BinarySearch(s.namespaces, namespace)
	return found
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

// isLong reports whether matching some states of objects, without the filter, needs a processor slot. It
// estimates the time in units of what a plain selection takes for an object. Conditions and selected fields are
// read from the bytes of an object, which may be a megabyte.
func (s *Selection) isLong(states iter.Seq[*Object]) bool {
	work, reads := 1+len(s.requirements)+len(s.conditions)+len(s.onlyNames), 0
	for _, c := range s.conditions {
		work, reads = work+len(c.Values), reads+len(c.Values)
	}
	if s.fields != nil {
		work, reads = work+readingWork, reads+1
	}
	total := 0
	for object := range states {
		if total += work + reads*object.RetainedSize()/bytesOfWork; total > shortWork {
			return true
		}
	}
	return false
}

const (
	// readingWork is the work to compare the fields of two states, and bytesOfWork the number of bytes that are
	// read in a unit of work.
	readingWork = 32
	bytesOfWork = 512
)

// Matches reports whether the selection contains an object. With a filter it may take a millisecond
// or two, so call it without a lock.
func (s *Selection) Matches(object *Object) bool {
	return s.matchesWithoutFilter(object) && s.passesFilter(object)
}

// matchesWithoutFilter is like Matches, without the filter.
func (s *Selection) matchesWithoutFilter(object *Object) bool {
	if !s.canContain(object) || !s.isNamed(object) {
		return false
	}
	for i := range s.requirements {
		if !s.requirements[i].Matches(object.Labels()) {
			return false
		}
	}
	for _, c := range s.conditions {
		if !c.Meets(object) {
			return false
		}
	}
	return true
}

// passesFilter reports whether the selection's filter, if any, is true for an object.
func (s *Selection) passesFilter(object *Object) bool {
	if s.filter == nil {
		return true
	}
	matches, _ := object.PassesFilter(s.filter, nil)
	return matches
}

// matchesCounting is like Matches, and counts the objects for which the filter has no value.
func (s *Selection) matchesCounting(object *Object, unvalued *unvaluedCount) bool {
	if s.filter == nil || !s.matchesWithoutFilter(object) {
		return s.filter == nil && s.matchesWithoutFilter(object)
	}
	matches, err := object.PassesFilter(s.filter, nil)
	unvalued.add(object, err)
	return matches
}

// transition returns the event of a change under a selection; false if the change causes none.
func (s *Selection) transition(step change, unvalued *unvaluedCount) (Event, bool) {
	before := step.before != nil && s.Matches(step.before)
	after := step.after != nil && s.matchesCounting(step.after, unvalued)
	event := Event{Object: step.after, ResourceVersion: step.version, step: step.step, closes: step.closes}
	switch {
	case before && after && object.EqualUnder(s.fields, step.before, step.after):
		return Event{}, false
	case before && after:
		event.Type, event.Before = Modified, step.before
	case after:
		event.Type = Added
	case before:
		event.Type, event.Object = Deleted, step.before
	default:
		return Event{}, false
	}
	event.Object, event.Before = event.Object.Masked(s.fields), event.Before.Masked(s.fields)
	return event, true
}

// latestStateEvent returns the event that takes a client from a cursor to the latest state of an
// object that has changed after it; false if the client cannot hold the object before or after. The
// content of the selection at that cursor is no longer known. So Modified may name an object that
// the client did not hold, or one that is unchanged under the selection's mask. Deleted may name an
// object that the client did not hold, too, and has no content. An open deletion is always sent: the
// Bookmark that follows has an older version, at which the object existed.
func (s *Selection) latestStateEvent(state latest, cursor uint64, unvalued *unvaluedCount) (Event, bool) {
	createdSince := state.createdSeq > cursor
	held := !state.deleted && s.matchesCounting(state.object, unvalued)
	event := Event{Object: state.object.Masked(s.fields), ResourceVersion: state.version}
	switch {
	case held && createdSince:
		event.Type = Added
	case held:
		event.Type = Modified
	case createdSince && !state.open, !s.canContain(state.object):
		return Event{}, false
	default:
		event.Type, event.Object = Deleted, state.object.Tombstone(state.object.UID(), state.version)
	}
	return event, true
}

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

// passed reports whether a walk at a cursor has passed an object.
func (cursor *ObjectName) passed(object *Object) bool {
	return cursor != nil && object.Compare(cursor.Namespace, cursor.Name) <= 0
}
