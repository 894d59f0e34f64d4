package informerhub

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

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
