package joins

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

func readerAt(t *testing.T, text string) nameReader {
	t.Helper()
	path, err := mask.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	relation, err := NewNamedBy(path)
	if err != nil {
		t.Fatal(err)
	}
	return relation.reader
}

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
		reader := readerAt(t, "spec.names[*]")
		object := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":`+spec+`}`)
		var got []string
		reader.each(object, func(name []byte) { got = append(got, string(name)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s names %q, want %q", spec, got, want)
		}
	}
}

func TestNameReader_ReadsABoundedNumberOfNames(t *testing.T) {
	reader := readerAt(t, "spec.names[*]")
	for values, want := range map[int]int{maxNames: maxNames, maxNames + 1: maxNames, 10 * maxNames: maxNames} {
		text := objecttest.JSON(t, slices.Repeat([]string{"a"}, values))
		object := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"names":`+string(text)+`}}`)
		reader.many = noted{}
		names := 0
		reader.each(object, func([]byte) { names++ })
		if names != want || (reader.many.count == 1) != (values > maxNames) {
			t.Errorf("of %d values, %d names are read, and %d objects have more", values, names, reader.many.count)
		}
	}
}

// TestUnfollowed_KindsDoNotRetainTheirObjects compares the memory of a kind and of the object that has it.
func TestUnfollowed_KindsDoNotRetainTheirObjects(t *testing.T) {
	row := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","ownerReferences":[`+
		`{"apiVersion":"example.com/v1","kind":"Gadget","name":"g","uid":"u","controller":true}]}}`)
	page := NewPage([]Join{{Name: "j", Relation: OwnerOf{}}}, nil)
	kinds, err := page.Unfollowed(t.Context(), []*informerhub.Object{row})
	if err != nil || len(kinds) != 1 || kinds[0].Kind != "Gadget" {
		t.Fatalf("got %v, %v", kinds, err)
	}
	if owner, _ := row.Controller(); unsafe.StringData(owner.Kind) == unsafe.StringData(kinds[0].Kind) {
		t.Error("the kind is a part of the object's memory")
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

func TestRelated_ReadsNamespaces(t *testing.T) {
	in := func(namespace string) *informerhub.Object {
		return objecttest.WidgetObject(t, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":%q}}`, namespace))
	}
	for _, test := range []struct {
		namespaces []string
		read       string // of the namespaces a, b and none
	}{
		{nil, "a,b,none"},
		{[]string{}, ""},
		{[]string{"b"}, "b,none"},
	} {
		var got []string
		for _, namespace := range []string{"a", "b", ""} {
			if (Related{Namespaces: test.namespaces}).reads(in(namespace)) {
				got = append(got, map[string]string{"": "none"}[namespace]+namespace)
			}
		}
		if strings.Join(got, ",") != test.read {
			t.Errorf("with %v: %q, want %q", test.namespaces, got, test.read)
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
