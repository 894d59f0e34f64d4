package informerhub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// Random objects and selectors are made of few strings, so that they match often.
var (
	aNamespace = rapid.SampledFrom([]string{"a", "b", "b-c"})
	aName      = rapid.SampledFrom([]string{"one", "two", "three", "four"})
	aNode      = rapid.SampledFrom([]string{"", "node-1", "node-2"})
	aKey       = rapid.SampledFrom([]string{"app", "tier", "empty"})
	aValue     = rapid.SampledFrom([]string{"", "web", "db"})
	anOwner    = rapid.SampledFrom([]string{"u1", "u2", "u3"})
	someOwners = rapid.SliceOfN(anOwner, 0, 3) // may contain duplicates
	aLabelSet  = rapid.MapOfN(aKey, aValue, 0, 3)
)

// aRequirement is one condition of a label selector.
var aRequirement = rapid.Custom(func(t *rapid.T) string {
	key, value, other := aKey.Draw(t, "key"), aValue.Draw(t, "value"), aValue.Draw(t, "other")
	return rapid.SampledFrom([]string{
		key, "!" + key,
		fmt.Sprintf("%s=%s", key, value),
		fmt.Sprintf("%s==%s", key, value),
		fmt.Sprintf("%s!=%s", key, value),
		fmt.Sprintf("%s in (%s,%s)", key, value, other),
		fmt.Sprintf("%s notin (%s,%s)", key, value, other),
	}).Draw(t, "requirement")
})

var aFieldCondition = rapid.Custom(func(t *rapid.T) string {
	condition := rapid.SampledFrom([]string{
		"metadata.name=" + aName.Draw(t, "name"),
		"metadata.namespace=" + aNamespace.Draw(t, "namespace"),
		"spec.nodeName=" + aNode.Draw(t, "node"),
	}).Draw(t, "condition")
	return strings.Replace(condition, "=", rapid.SampledFrom([]string{"=", "==", "!="}).Draw(t, "operator"), 1)
})

var aQuery = rapid.Custom(func(t *rapid.T) Query {
	list := func(of *rapid.Generator[string], name string) string {
		return strings.Join(rapid.SliceOfN(of, 0, 2).Draw(t, name), ",")
	}
	if rapid.Bool().Draw(t, "everything") {
		return Query{}
	}
	return Query{
		Namespace:     rapid.OneOf(rapid.Just(""), aNamespace).Draw(t, "in namespace"),
		Name:          rapid.OneOf(rapid.Just(""), rapid.Just(""), aName).Draw(t, "named"),
		LabelSelector: list(aRequirement, "label selector"),
		FieldSelector: list(aFieldCondition, "field selector"),
		Namespaces:    someNamespaces.Draw(t, "restricted to"),
		Related:       aRelated.Draw(t, "related"),
		Filter:        rapid.OneOf(rapid.Just[*filter.Filter](nil), aFilter).Draw(t, "filter"),
		Fields:        someFields.Draw(t, "fields"),
	}
})

// aVariationOf returns a query that differs from another one in one field at most: by nil or empty, by
// the order or notation of the same condition, or by another condition.
func aVariationOf(t *rapid.T, query Query) Query {
	switch rapid.IntRange(0, 8).Draw(t, "varied field") {
	case 0:
		query.Namespaces = someNamespaces.Draw(t, "other namespaces")
	case 1:
		query.Related.Among = rapid.OneOf(rapid.Just([]ObjectName(nil)), rapid.Just([]ObjectName{}), rapid.SliceOfN(anObjectName, 0, 2)).Draw(t, "among others")
	case 2:
		query.Related.Fields = rapid.SampledFrom([][]FieldValues{
			nil, {}, {{"spec.nodeName", []string{}}}, {{"spec.nodeName", []string{""}}}, {{"spec.nodeName", []string{"node-1", "node-2"}}}, {{"spec.nodeName", []string{"node-2", "node-1"}}},
		}).Draw(t, "other fields")
	case 3:
		query.Fields = someFields.Draw(t, "other paths")
	case 4:
		query.Filter = aFilter.Draw(t, "other filter")
	case 5:
		query.LabelSelector = rapid.SampledFrom([]string{"", ",", "app", "app=web", "app==web", "app in (web)", "app in (web,db)", "app in (db,web)", "app=web,tier", "tier,app=web"}).Draw(t, "other labels")
		if query.LabelSelector == "," {
			query.LabelSelector = ""
		}
	case 6:
		query.Related.Namespace, query.Namespace = query.Namespace, query.Related.Namespace
	case 7:
		query.Name, query.FieldSelector = "", rapid.SampledFrom([]string{"", "metadata.name=one", "metadata.name!=one"}).Draw(t, "other condition")
	}
	return query
}

// aFilter is one of a few compiled filters, or none.
var aFilter = rapid.Custom(func(t *rapid.T) *filter.Filter {
	text := rapid.SampledFrom([]string{"", "true", "false", "object.metadata.name != 'one'"}).Draw(t, "filter")
	if text == "" {
		return nil
	}
	return compiledFilters()[text]
})

// compiledFilters returns the filters by their texts, compiled once.
var compiledFilters = sync.OnceValue(func() map[string]*filter.Filter {
	all := make(map[string]*filter.Filter)
	for _, text := range []string{"true", "false", "object.metadata.name != 'one'"} {
		compiled, err := filter.Compile(text)
		if err != nil {
			panic(err)
		}
		all[text] = compiled
	}
	return all
})

// passes reports whether an object passes a query's filter, which is one of compiledFilters.
func (q Query) passes(state traits) bool {
	switch {
	case q.Filter == nil:
		return true
	case q.Filter.String() == "object.metadata.name != 'one'":
		return state.Name != "one"
	}
	return q.Filter.String() == "true"
}

// someLimits are mostly so small that they are soon reached.
var someLimits = rapid.Custom(func(t *rapid.T) limits {
	return limits{
		window:     rapid.SampledFrom([]int{1, 500, 2000, 10_000, 1 << 20}).Draw(t, "window"),
		tombstones: rapid.SampledFrom([]int{0, 1, 3, maxTombstones}).Draw(t, "tombstones"),
		sweepSlack: rapid.SampledFrom([]int{0, 1, 5, 1024}).Draw(t, "sweep slack"),
		batch:      rapid.SampledFrom([]int{1, 2, 5, 1024}).Draw(t, "batch"),
		batchBytes: rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(t, "batch bytes"),
		partBytes:  rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(t, "part bytes"),
	}
})

// aRelated is mostly no limit at all.
var aRelated = rapid.Custom(func(t *rapid.T) Related {
	switch rapid.IntRange(0, 7).Draw(t, "relation") {
	case 0:
		return Related{Owner: anOwner.Draw(t, "owner")}
	case 1:
		return Related{Owner: anOwner.Draw(t, "owner"), Namespace: aNamespace.Draw(t, "related namespace")}
	case 2:
		return Related{LabelSelector: aRequirement.Draw(t, "selector"), Namespace: aNamespace.Draw(t, "related namespace")}
	case 3:
		return Related{Fields: []FieldValues{{"spec.nodeName", rapid.SliceOfN(aNode, 1, 2).Draw(t, "nodes")}}}
	case 4:
		return Related{Among: rapid.SliceOfN(anObjectName, 0, 3).Draw(t, "among")}
	}
	return Related{}
})

var anObjectName = rapid.Custom(func(t *rapid.T) ObjectName {
	place := aPlace.Draw(t, "place")
	return ObjectName{place.namespace, place.name, anOwner.Draw(t, "uid")}
})

// someFields are the fields that a caller selects; nil is all of them.
var someFields = rapid.Custom(func(t *rapid.T) *mask.Mask {
	path := rapid.SampledFrom([]string{"spec.nodeName", "metadata.labels.app", "metadata.labels[*]", "metadata.resourceVersion", "status"})
	fields, err := mask.Parse(rapid.SliceOfN(path, 0, 2).Draw(t, "paths"))
	must(t, err)
	return fields
})

// someNamespaces are those that a caller can read; nil is all of them.
var someNamespaces = rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfNDistinct(aNamespace, 0, 3, rapid.ID[string]))

// key identifies an object.
type key struct{ namespace, name string }

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

var aPlace = rapid.Custom(func(t *rapid.T) key {
	return key{aNamespace.Draw(t, "namespace"), aName.Draw(t, "name")}
})

// someTraits are those of a pod with a key.
func someTraits(t *rapid.T, place key, uid string, version int) traits {
	return traits{Namespace: place.namespace, Name: place.name, UID: uid, Version: fmt.Sprint(version), Labels: aLabelSet.Draw(t, "labels"), Node: aNode.Draw(t, "node"), Owners: someOwners.Draw(t, "owners")}
}

// world is a naive cache: the expected state.
type world map[key]traits

// selected returns the objects that a query selects, by client-go's own selectors.
func (w world) selected(t tester, query Query) []traits {
	t.Helper()
	byLabel, err := labels.Parse(query.LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	byField, err := fields.ParseSelector(query.FieldSelector)
	if err != nil {
		t.Fatal(err)
	}
	var found []traits
	for _, place := range slices.SortedFunc(maps.Keys(w), key.compare) {
		state := w[place]
		values := fields.Set{"metadata.name": state.Name, "metadata.namespace": state.Namespace, "spec.nodeName": state.Node}
		if (query.Namespace == "" || query.Namespace == state.Namespace) && (query.Name == "" || query.Name == state.Name) &&
			(query.Namespaces == nil || slices.Contains(query.Namespaces, state.Namespace)) &&
			byLabel.Matches(labels.Set(state.Labels)) && byField.Matches(values) && related(t, state, query.Related) && query.passes(state) {
			found = append(found, state)
		}
	}
	return found
}

// related reports whether an object matches Related, by another implementation.
func related(t tester, state traits, to Related) bool {
	t.Helper()
	byLabel, err := labels.Parse(to.LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range to.Fields {
		if !slices.Contains(of.Values, map[string]string{"spec.nodeName": state.Node}[of.Field]) {
			return false
		}
	}
	return (to.Namespace == "" || to.Namespace == state.Namespace) &&
		(to.Owner == "" || slices.Contains(state.Owners, to.Owner)) &&
		(to.Among == nil || slices.Contains(to.Among, ObjectName{state.Namespace, state.Name, state.UID})) &&
		byLabel.Matches(labels.Set(state.Labels))
}

// describeTraits returns what tests compare of an object: its identity and version.
func describeTraits(state traits) string {
	return fmt.Sprintf("%s/%s %s@%s", state.Namespace, state.Name, state.UID, state.Version)
}

// describe returns what tests compare of an object that was sent for a query: under a mask its
// content instead of its version.
func (q Query) describe(o *Object) string {
	if q.Fields == nil {
		return describeObject(o)
	}
	text, err := o.Masked(q.Fields).JSON()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s/%s %s %s", o.Namespace(), o.Name(), o.UID(), text)
}

// describeSelected returns what tests compare of all objects that a query selects.
func (w world) describeSelected(t tester, query Query) []string {
	t.Helper()
	return describeAll(w.selected(t, query), func(state traits) string { return query.describe(podObject(t, state)) })
}

func describeObject(o *Object) string {
	return fmt.Sprintf("%s/%s %s@%s", o.Namespace(), o.Name(), o.UID(), o.ResourceVersion())
}

func describeAll[T any](all []T, describe func(T) string) []string {
	lines := make([]string, len(all))
	for i, one := range all {
		lines[i] = describe(one)
	}
	return lines
}
