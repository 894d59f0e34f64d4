package joins

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

func TestNameReader_ReadsStringsThatCanBeNames(t *testing.T) {
	long := strings.Repeat("x", maxNameBytes)
	for spec, want := range map[string]string{
		`{"names":["a","b","a"]}`:                    "a b a",
		`{"names":["a\u002db"]}`:                     "a-b",
		`{"names":["",1,true,null,{},["c"]]}`:        "",
		`{"names":["` + long + `","` + long + `x"]}`: long,
		`{"names":"a"}`:                              "",
		`{"names":{"one":"a","two":"b"}}`:            "a b",
		`{}`:                                         "",
	} {
		path, err := mask.ParsePath("spec.names[*]")
		if err != nil {
			t.Fatal(err)
		}
		relation, err := NewNamedBy(path)
		if err != nil {
			t.Fatal(err)
		}
		object := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":`+spec+`}`)
		var got []string
		relation.reader.each(object, func(name []byte) { got = append(got, string(name)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s names %q, want %q", spec, got, want)
		}
	}
}

func TestReference_IdentifiesItsObject(t *testing.T) {
	widgets, nodes := objecttest.Widgets, informerhub.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	for name, test := range map[string]struct {
		reference reference
		resource  informerhub.Resource
		want      bool
	}{
		"of the same version":    {reference{APIVersion: "example.com/v1", Kind: "Widget", UID: "u"}, widgets, true},
		"of another version":     {reference{APIVersion: "example.com/v2", Kind: "Widget", UID: "u"}, widgets, true},
		"without a version":      {reference{Kind: "Widget", UID: "u"}, widgets, true},
		"without a UID":          {reference{Kind: "Widget"}, widgets, true},
		"of another group":       {reference{APIVersion: "v1", Kind: "Widget", UID: "u"}, widgets, false},
		"of another kind":        {reference{APIVersion: "example.com/v1", Kind: "Gadget", UID: "u"}, widgets, false},
		"with another UID":       {reference{Kind: "Widget", UID: "v"}, widgets, false},
		"with the name as UID":   {reference{Kind: "Widget", UID: "a"}, widgets, false},
		"of a node, by its name": {reference{Kind: "Node", UID: "a"}, nodes, true},
	} {
		object := objecttest.WidgetObject(t, objecttest.WidgetText)
		if got := test.reference.isOf(test.resource) && test.reference.hasUID(object); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestRelated_PermitsNamespaces(t *testing.T) {
	in := func(namespace string) *informerhub.Object {
		return objecttest.WidgetObject(t, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":%q}}`, namespace))
	}
	for _, test := range []struct {
		namespaces []string
		permitted  string // of the namespaces a, b and none
	}{
		{nil, "a,b,none"},
		{[]string{}, ""},
		{[]string{"b"}, "b,none"},
	} {
		var got []string
		for _, namespace := range []string{"a", "b", ""} {
			if (Related{Namespaces: test.namespaces}).permits(in(namespace)) {
				got = append(got, map[string]string{"": "none"}[namespace]+namespace)
			}
		}
		if strings.Join(got, ",") != test.permitted {
			t.Errorf("with %v: %q, want %q", test.namespaces, got, test.permitted)
		}
	}
}

// TestJoining_RemembersABoundedPart encodes more related objects than are remembered.
func TestJoining_RemembersABoundedPart(t *testing.T) {
	large := strings.Repeat("x", maxKnownBytes/10)
	page := NewPage([]Join{{Name: "j", Relation: OwnerOf{}, Limit: 1}}, nil)
	join := page.joins[0]
	for i := range 100 {
		object := objecttest.WidgetObject(t, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w-%d"},"spec":%q}`, i, large))
		first := join.message(object)
		if again := join.message(object); !slices.Equal(first, again) || len(first) < len(large) {
			t.Fatalf("the message has %d bytes, then %d", len(first), len(again))
		}
		if join.knownBytes > maxKnownBytes || len(join.known) > 10 {
			t.Fatalf("%d objects with %d bytes are remembered", len(join.known), join.knownBytes)
		}
	}
}

func TestNoted_ReportsTheNumberAndAnExample(t *testing.T) {
	object := objecttest.WidgetObject(t, objecttest.WidgetText)
	var n noted
	if got := n.text("%d objects"); got != "" {
		t.Errorf("without an object: %q", got)
	}
	n.add(object, errors.New("bad"))
	if got, want := n.text("%d objects"), "1 objects: bad (default/a)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	n.add(object, nil)
	if got, want := n.text("%d objects"), "2 objects: bad (default/a, …)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
