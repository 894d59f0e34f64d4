package change

import (
	"encoding/json"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

var gadgets = informerhub.Resource{Group: "example.com", Version: "v1", Kind: "Gadget", Name: "gadgets", Namespaced: true}

// TestManifest_IsCompleted gives the type to custom resources only, and changes nothing else.
func TestManifest_IsCompleted(t *testing.T) {
	const lines = "apiVersion: \"example.com/v1\"\nkind: \"Gadget\"\n"
	for name, test := range map[string]struct{ text, want string }{
		"JSON":                 {` { "a" : 1.10, "a":2 } `, ` {"kind":"Gadget","apiVersion":"example.com/v1", "a" : 1.10, "a":2 } `},
		"an empty object":      {`{}`, `{"kind":"Gadget","apiVersion":"example.com/v1"}`},
		"a complete object":    {`{"kind":"Other","apiVersion":"v9"}`, `{"kind":"Other","apiVersion":"v9"}`},
		"a kind only":          {`{"kind":"Other"}`, `{"apiVersion":"example.com/v1","kind":"Other"}`},
		"empty members":        {`{"kind":"","apiVersion":null}`, `{"kind":"Gadget","apiVersion":"example.com/v1"}`},
		"a member of metadata": {`{"metadata":{"kind":"x"},"apiVersion":"v9"}`, `{"kind":"Gadget","metadata":{"kind":"x"},"apiVersion":"v9"}`},
		"YAML":                 {"# one\na: yes\na: 'x'\n", "# one\na: yes\na: 'x'\n" + lines},
		"indented YAML":        {"  a: 1\n  b:\n  - 2\n", "  a: 1\n  b:\n  - 2\n  apiVersion: \"example.com/v1\"\n  kind: \"Gadget\"\n"},
		"a document in marks":  {"---\na: 1\n...\n---\n# two\n", "---\na: 1\n" + lines + "...\n---\n# two\n"},
		"no last line break":   {"a: 1", "a: 1\n" + lines},
		"carriage returns":     {"a: 1\r\nb: 2\r\n", "a: 1\r\nb: 2\r\n" + lines},
		"braces":               {"# one\n{a: 1}\n", "# one\n{apiVersion: \"example.com/v1\", kind: \"Gadget\", a: 1}\n"},
		"braces after a mark":  {"--- {}", `--- {apiVersion: "example.com/v1", kind: "Gadget", }`},
		"a complete document":  {"a: 1\nkind: Other\napiVersion: v9\n", "a: 1\nkind: Other\napiVersion: v9\n"},
		"a kind only, in YAML": {"kind: Other\na: 1\n", "kind: Other\na: 1\napiVersion: \"example.com/v1\"\n"},
		"a text at the end":    {"a: |\n  x\n  ---\n", "a: |\n  x\n  ---\n" + lines},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseData([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			completed, err := m.completeFor(Target{Resource: gadgets})
			if err != nil || string(completed.body) != test.want || completed.contentType != m.contentType {
				t.Errorf("sends %q as %s, %v; want %q", completed.body, completed.contentType, err, test.want)
			}
			builtIn, err := m.completeFor(Target{Resource: configMaps, Name: "one"})
			if err != nil || string(builtIn.body) != test.text {
				t.Errorf("of a built-in kind: sends %q, %v", builtIn.body, err)
			}
		})
	}
}

// TestManifest_IsCompletedInJSON has YAML in which the members cannot be inserted as text.
func TestManifest_IsCompletedInJSON(t *testing.T) {
	const head = `{"kind":"Gadget","apiVersion":"example.com/v1"`
	for name, test := range map[string]struct{ text, name, want string }{
		"an empty document":     {text: "# nothing\n", want: head + `}`},
		"an empty member":       {text: "kind: ''\napiVersion:\n", want: `{"apiVersion":"example.com/v1","kind":"Gadget"}`},
		"a tag":                 {text: "--- !!map\na: 1\n", want: head + `,"a":1}`},
		"an indented tag":       {text: "--- !!map\n  a: 1\n", want: head + `,"a":1}`},
		"a text at the end":     {text: "a: |\n  x", want: head + `,"a":"x"}`},
		"a key in braces":       {text: "? {a: 1}\n: 2\n? b\n: 3", want: ""},
		"a missing name":        {text: "a: 1\nmetadata: {}\n", name: "one", want: head + `,"a":1,"metadata":{"name":"one"}}`},
		"no metadata":           {text: "a: 1\n", name: "one", want: head + `,"metadata":{"name":"one"},"a":1}`},
		"a name in JSON":        {text: `{"a":1.0}`, name: "one", want: head + `,"metadata":{"name":"one"},"a":1.0}`},
		"a duplicate, nameless": {text: "a: 1\na: 2\n", name: "one", want: ""},
		"metadata is null":      {text: `{"metadata":null}`, name: "one", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseData([]byte(test.text))
			if err == nil {
				m, err = m.completeFor(Target{Resource: gadgets, Name: test.name})
			}
			switch {
			case test.want == "" && !apierrors.IsBadRequest(err):
				t.Errorf("sends %q, error %v", m.body, err)
			case test.want != "" && (err != nil || string(m.body) != test.want || m.contentType != runtime.ContentTypeJSON):
				t.Errorf("sends %q as %s, %v; want %q", m.body, m.contentType, err, test.want)
			}
		})
	}
}

// TestManifest_OfAScaleIsCompleted has a scale of a custom resource, whose kind is not the resource's.
func TestManifest_OfAScaleIsCompleted(t *testing.T) {
	m, err := ParseData([]byte(`{"spec":{"replicas":3}}`))
	if err == nil {
		m, err = m.completeFor(Target{Resource: gadgets, Name: "one", Subresource: "scale"})
	}
	if want := `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"one"},"spec":{"replicas":3}}`; err != nil || string(m.body) != want {
		t.Errorf("sends %s, %v; want %s", m.body, err, want)
	}
}

// checkCompleted fails the test unless a manifest, completed, has a type and is the same object
// otherwise.
func checkCompleted(t *testing.T, m Manifest) {
	t.Helper()
	completed, err := m.completeFor(Target{Resource: gadgets})
	if err != nil {
		if !apierrors.IsBadRequest(err) {
			t.Fatal(err)
		}
		return
	}
	var before, after map[string]any
	if yaml.Unmarshal(m.body, &before) != nil || yaml.Unmarshal(completed.body, &after) != nil {
		return
	}
	for _, member := range []string{"kind", "apiVersion"} {
		if value := before[member]; value != nil && value != "" {
			continue
		}
		if after[member] == nil || after[member] == "" {
			t.Fatalf("%q becomes %q", m.body, completed.body)
		}
		delete(before, member)
		delete(after, member)
	}
	if len(before)+len(after) > 0 && !reflect.DeepEqual(before, after) {
		one, _ := json.Marshal(before)
		other, _ := json.Marshal(after)
		if string(one) != string(other) {
			t.Fatalf("%q becomes %q", m.body, completed.body)
		}
	}
}
