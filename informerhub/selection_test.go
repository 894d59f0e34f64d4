package informerhub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

func TestSelect_InvalidQueryIsABadRequest(t *testing.T) {
	for name, test := range map[string]struct {
		resource Resource
		query    Query
		says     string
	}{
		"a malformed label selector":            {pods, Query{LabelSelector: "a in ("}, `label_selector "a in ("`},
		"an invalid label key":                  {pods, Query{LabelSelector: "-/-=x"}, "label_selector"},
		"a malformed field selector":            {pods, Query{FieldSelector: "spec.nodeName"}, `field_selector "spec.nodeName"`},
		"a field that cannot be selected by":    {pods, Query{FieldSelector: "spec.nosuch=x"}, "spec.nosuch"},
		"a field of another kind":               {nodes, Query{FieldSelector: "spec.nodeName=x"}, "spec.nodeName"},
		"a namespace where there are none":      {nodes, Query{Namespace: "a"}, "leave the namespace out"},
		"a namespace field where there is none": {nodes, Query{FieldSelector: "metadata.namespace=a"}, "metadata.namespace"},
		"a label selector without end":          {pods, Query{LabelSelector: strings.Repeat("a,", 1<<20)}, ""},
		"a field selector without end":          {pods, Query{FieldSelector: strings.Repeat("a=b,", 1<<20)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cacheOf(test.resource, 0).Select(t.Context(), test.query)
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want a BadRequest with %q", err, test.says)
			}
		})
	}
}

// FuzzSelect parses a caller's selectors, and compares the label selector with client-go's parser.
func FuzzSelect(f *testing.F) {
	for _, seed := range [][4]string{
		{}, {"a", "b", "app=web,tier!=db", "spec.nodeName=x"}, {"", "", "a in (b,c),!d,e", "metadata.name!=x"},
		{"", "", "a in ()", `a=\,b`}, {"", "", "=", "="}, {"", "", ",,", "a==b,,"}, {"", "", "a>1,b<2", "metadata.namespace="},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	c := podCache(1 << 20)
	state := traits{Namespace: "a", Name: "b", UID: "u", Version: "1", Labels: map[string]string{"app": "web", "a": "2"}, Node: "x", Owners: []string{"owner"}}
	object := podObject(f, state)
	c.store.put(object)
	f.Fuzz(func(t *testing.T, namespace, name, labelSelector, fieldSelector string) {
		sel, err := c.Select(t.Context(), Query{Namespace: namespace, Name: name, LabelSelector: labelSelector, FieldSelector: fieldSelector})
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Errorf("error %v is not a BadRequest", err)
			}
			return
		}
		if held := len(listOf(t, c, sel).Objects) == 1; held != sel.Matches(object) {
			t.Errorf("in the list: %v, matches: %v", held, sel.Matches(object))
		}
		byLabel, _ := labels.Parse(labelSelector)
		if namespace == "" && name == "" && fieldSelector == "" && byLabel.Matches(labels.Set(state.Labels)) != sel.Matches(object) {
			t.Errorf("matches: %v, unlike client-go", sel.Matches(object))
		}
	})
}

// TestSelection_ReadingLargeObjectsIsLongWork compares selections that read the contents of objects with one that does
// not.
func TestSelection_ReadingLargeObjectsIsLongWork(t *testing.T) {
	c := podCache(1 << 20)
	fields, err := mask.Parse([]string{"metadata.name"})
	if err != nil {
		t.Fatal(err)
	}
	small := podObject(t, traits{Namespace: "default", Name: "small", UID: "a", Version: "1"})
	large := podObject(t, traits{Namespace: "default", Name: "large", UID: "b", Version: "1", Node: strings.Repeat("x", 1<<20)})
	for name, test := range map[string]struct {
		query Query
		want  bool
	}{
		"everything":  {Query{}, false},
		"labels":      {Query{LabelSelector: "app=web"}, false},
		"a field":     {Query{FieldSelector: "spec.nodeName!=a"}, true},
		"an owner":    {Query{Related: Related{Owner: "a"}}, true},
		"some fields": {Query{Fields: fields}, true},
	} {
		sel := selectFrom(t, c, test.query)
		if sel.isLong(slices.Values([]*Object{small, small})) {
			t.Errorf("%s: matching two small objects is long work", name)
		}
		if got := sel.isLong(slices.Values([]*Object{small, large})); got != test.want {
			t.Errorf("%s: matching a large object is long work: %v, want %v", name, got, test.want)
		}
	}
}

// TestSelection_EqualKeysAreEqualSelections draws two questions that differ in one field at most, and
// some objects. Selections with equal keys must contain the same objects, and deliver the same of them.
func TestSelection_EqualKeysAreEqualSelections(t *testing.T) {
	c := podCache(1 << 20)
	rapid.Check(t, func(t *rapid.T) {
		one := aQuery.Draw(t, "query")
		other := aVariationOf(t, one)
		a, b := selectFrom(t, c, one), selectFrom(t, c, other)
		w := world{}
		for _, place := range rapid.SliceOfNDistinct(aPlace, 1, 12, rapid.ID[key]).Draw(t, "places") {
			w[place] = someTraits(t, place, anOwner.Draw(t, "uid"), 7)
		}
		same := slices.Equal(w.describeSelected(t, one), w.describeSelected(t, other))
		if a.Key() == b.Key() && !same {
			t.Fatalf("%+v and %+v have one key, and select\n%q and\n%q", one, other, w.describeSelected(t, one), w.describeSelected(t, other))
		}
		if again := selectFrom(t, c, one); again.Key() != a.Key() {
			t.Fatalf("%+v has two keys", one)
		}
	})
}

// TestWatchers_OfAnEmptySelectionTakeNothingFromOthers has a watcher of a selection that is limited to
// no names with watchers of everything.
func TestWatchers_OfAnEmptySelectionTakeNothingFromOthers(t *testing.T) {
	c := syncedPods(t, 10)
	var all []*reader
	for _, query := range []Query{{Related: Related{Among: []ObjectName{}}}, {Namespaces: []string{}}, {}, {}} {
		reader := newReader(t, c, query)
		reader.drain(t)
		all = append(all, reader)
	}
	must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "b", UID: "u", Version: "11"})))
	for i, want := range [][]string{nil, nil, {"ADDED default/b@11 at 11"}, {"ADDED default/b@11 at 11"}} {
		checkSame(t, want, all[i].drain(t))
	}
}

func TestSelection_KeyDependsOnTheMask(t *testing.T) {
	c := podCache(1 << 20)
	keys := make(map[SelectionKey]bool)
	for _, paths := range [][]string{nil, {"spec"}, {"metadata"}, {"spec", "metadata"}, {"metadata", "spec"}} {
		sel, err := c.Select(context.Background(), Query{Fields: fieldsOf(t, paths...)})
		must(t, err)
		keys[sel.Key()] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d selections have different keys, want 4", len(keys))
	}
}

func TestSelect_RequirementsAndValuesAreBounded(t *testing.T) {
	c := podCache(1 << 20)
	var requirements, values []string
	for i := range maxRequirements + 1 {
		requirements = append(requirements, fmt.Sprint("!a", i))
	}
	for i := range maxSelectedValues + 1 {
		values = append(values, fmt.Sprint("v", i))
	}
	for name, test := range map[string]struct {
		query Query
		want  string // empty: allowed
	}{
		"as many requirements as may be": {Query{LabelSelector: strings.Join(requirements[1:], ",")}, ""},
		"one more":                       {Query{LabelSelector: strings.Join(requirements, ",")}, "have 101 requirements, and may have 100"},
		"labels and fields":              {Query{LabelSelector: strings.Join(requirements[1:], ","), FieldSelector: "spec.nodeName=a"}, "101 requirements"},
		"fields":                         {Query{FieldSelector: strings.ReplaceAll(strings.Join(requirements, ","), "!", "unknown!=")}, "101 requirements"},
		"the same again":                 {Query{LabelSelector: strings.Repeat("a=b,", 500) + "a=b", FieldSelector: strings.Repeat("spec.nodeName=a,", 500)}, ""},
		"as many values as may be":       {Query{LabelSelector: "a in (" + strings.Join(values[1:], ",") + ")"}, ""},
		"one value more":                 {Query{LabelSelector: "a notin (" + strings.Join(values, ",") + ")"}, "have 1001 values, and may have 1000"},
		"the same again, with spaces":    {Query{LabelSelector: strings.Repeat(" a in (x, y) ,", 4_000) + "a in (x, y)"}, ""},
		"far more values":                {Query{LabelSelector: "a in (" + strings.Repeat("x,", 30_000) + "y)"}, "may have 100 requirements and 1000 values"},
		"nothing but commas":             {Query{LabelSelector: strings.Repeat(",", 60_000)}, "may have 100 requirements"},
		"two empty terms":                {Query{LabelSelector: ","}, "found ','"},
		"a relation":                     {Query{Related: Related{LabelSelector: strings.Join(requirements, ",")}}, "101 requirements"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Select(t.Context(), test.query)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want a BadRequest: %s", err, test.want)
			}
		})
	}
}

// distinctTerms changes neither what a selector selects, nor whether it is valid.
func TestDistinctTerms_SelectTheSameObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOf(rapid.SampledFrom([]string{"a", "!a", "a=b", " a = b", "a in (x,y)", "a in (y,x)", "b notin (x)", "b notin ( x", "in", "", " ", "(", ")", "a,a"})).Draw(t, "terms")
		text := strings.Join(terms, ",")
		before, errBefore := labels.Parse(text)
		after, errAfter := labels.Parse(distinctTerms(text))
		if (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("%q: %v, as %q: %v", text, errBefore, distinctTerms(text), errAfter)
		}
		if errBefore != nil {
			return
		}
		for _, set := range []labels.Set{{}, {"a": "b"}, {"a": "x"}, {"a": "y", "b": "x"}, {"b": "y"}} {
			if before.Matches(set) != after.Matches(set) {
				t.Fatalf("%q selects %v, as %q it selects others", text, set, distinctTerms(text))
			}
		}
	})
}
