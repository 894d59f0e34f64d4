package change

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

var configMaps = informerhub.Resource{Version: "v1", Kind: "ConfigMap", Name: "configmaps", Namespaced: true}

func wanting(uid, version string) *metav1.Preconditions {
	var wanted metav1.Preconditions
	if uid != "" {
		wanted.UID = new(types.UID(uid))
	}
	if version != "" {
		wanted.ResourceVersion = &version
	}
	return &wanted
}

func TestPreconditions_AreSetInManifests(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                    `{"metadata":{"resourceVersion":"7","uid":"u"}}`,
		`{"data":{"a":"1"}}`:                    `{"metadata":{"resourceVersion":"7","uid":"u"},"data":{"a":"1"}}`,
		`{"metadata":{}}`:                       `{"metadata":{"resourceVersion":"7","uid":"u"}}`,
		`{"metadata":{"name":"a"}}`:             `{"metadata":{"resourceVersion":"7","uid":"u","name":"a"}}`,
		`{"Metadata":{"uid":"u"}}`:              `{"metadata":{"resourceVersion":"7","uid":"u"},"Metadata":{"uid":"u"}}`,
		`{"metadata":{"UID":"u"}}`:              `{"metadata":{"resourceVersion":"7","uid":"u","UID":"u"}}`,
		`{"metadata":{"uid":"u"}}`:              `{"metadata":{"resourceVersion":"7","uid":"u"}}`,
		`{"x":{"metadata":{}},"metadata":{}}`:   `{"x":{"metadata":{}},"metadata":{"resourceVersion":"7","uid":"u"}}`,
		` { "x" : [1.10] , "metadata" : { } } `: ` { "x" : [1.10] , "metadata" : {"resourceVersion":"7","uid":"u" } } `,
		`{"metadata":{"uid":"","name":"a"}}`:    `{"metadata":{"resourceVersion":"7","uid":"u","name":"a"}}`,
		`{"metadata":{"uid":"u","uid":""}}`:     `{"metadata":{"resourceVersion":"7","uid":"u","uid":"u"}}`,
		`{"metadata":{"name":"a","uid": null}}`: `{"metadata":{"resourceVersion":"7","name":"a","uid": "u"}}`,
		"metadata:\n  name: a\n":                `{"metadata":{"resourceVersion":"7","uid":"u","name":"a"}}`,
		"metadata:\n  uid: ''\n":                `{"metadata":{"resourceVersion":"7","uid":"u"}}`,
	} {
		m, err := ParseData([]byte(text))
		if err == nil {
			m, err = m.WithPreconditions(wanting("u", "7"))
		}
		if err != nil || string(m.body) != want || m.contentType != apiruntime.ContentTypeJSON {
			t.Errorf("%s: sends %s as %s, %v; want %s", text, m.body, m.contentType, err, want)
		}
	}
	for _, wrong := range []string{`{"metadata":{"uid":"other"}}`, `{"metadata":{"resourceVersion":"6"}}`, `{"metadata":null}`, `{"metadata":{},"metadata":{}}`, "null", "a: 1\na: 2\n"} {
		m, err := ParseData([]byte(wrong))
		if err == nil {
			_, err = m.WithPreconditions(wanting("u", "7"))
		}
		if !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestPreconditions_AreSetInProtobufManifests(t *testing.T) {
	message, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "1"}}, Data: map[string]string{"k": "v"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseProtobuf(message, configMaps)
	if err == nil {
		m, err = m.WithPreconditions(wanting("u", "7"))
	}
	if err != nil {
		t.Fatal(err)
	}
	kind := configMaps.GroupVersionKind()
	read, _, err := scheme.Codecs.UniversalDeserializer().Decode(m.body, &kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := read.(*corev1.ConfigMap)
	if now.UID != "u" || now.ResourceVersion != "7" || now.Name != "a" || now.Labels["l"] != "1" || now.Data["k"] != "v" {
		t.Errorf("sends %v", now)
	}
}

func TestPreconditions_WithoutThemManifestsAreUnchanged(t *testing.T) {
	text := []byte(" {\"metadata\" : {\"name\":\"a\"}} ")
	m, err := ParseData(text)
	if err == nil {
		m, err = m.WithPreconditions(wanting("", ""))
	}
	if err != nil || !bytes.Equal(m.body, text) || m.Head.Metadata.Name != "a" {
		t.Errorf("sends %q, %v", m.body, err)
	}
}

// FuzzManifest compares the JSON with preconditions with the result of setting them in a map.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"metadata":{"name":"a","uid":"u"},"x":[1,{"y":null}]}`, "metadata: {name: a}\n---\n", `{"metadata":{},"metadata":{}}`, `{"metadata":{"uid":""}}`, `{"metadata":{"uid":"u","uid":""}}`, "a: &a [*a]", `{"x":1e999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseData(text)
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Fatal(err)
			}
			return
		}
		checkCompleted(t, m)
		sent, err := m.WithPreconditions(wanting("u", "7"))
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Fatal(err)
			}
			return
		}
		var before, after map[string]any
		if yaml.Unmarshal(text, &before) != nil {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(sent.body))
		decoder.UseNumber()
		if err := decoder.Decode(&after); err != nil {
			t.Fatalf("%q becomes %q: %v", text, sent.body, err)
		}
		metadata, _ := after["metadata"].(map[string]any)
		if metadata["uid"] != "u" || metadata["resourceVersion"] != "7" {
			t.Fatalf("%q becomes %q", text, sent.body)
		}
		for name := range before {
			if _, kept := after[name]; !kept {
				t.Fatalf("%q of %q is not in %q", name, text, sent.body)
			}
		}
	})
}

func TestPreconditions_AreAppendedToJSONPatches(t *testing.T) {
	p, err := Patch{Kind: types.JSONPatchType, Body: []byte(`[{"op":"remove","path":"/a"}]`)}.WithPreconditions(wanting("", "7"))
	if want := `[{"op":"remove","path":"/a"},{"op":"add","path":"/metadata/resourceVersion","value":"7"}]`; err != nil || string(p.Body) != want {
		t.Errorf("sends %s, %v; want %s", p.Body, err, want)
	}
	if _, err := (Patch{Kind: types.JSONPatchType, Body: []byte(`{}`)}).WithPreconditions(wanting("u", "")); !apierrors.IsBadRequest(err) {
		t.Errorf("of no list: %v", err)
	}
}

// TestManifest_SaysWhichFieldIsWrong expects no Go types in the errors for callers.
func TestManifest_SaysWhichFieldIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata":"x"}`:        "metadata has the type string, and must be an object",
		`{"metadata":{"name":1}}`: "metadata.name has the type number, and must be a string",
		"metadata: {name: [1]}":   "metadata.name has the type array, and must be a string",
		"- a":                     "it has the type array, and must be an object",
		`{"metadata":{"uid":{}}}`: "metadata.uid has the type object, and must be a string",
	} {
		_, err := ParseData([]byte(text))
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestParseData_BoundsTheMemoryOfYAML has YAML of the most bytes of a request, in the forms that take the most memory.
func TestParseData_BoundsTheMemoryOfYAML(t *testing.T) {
	const bytes = 4 << 20
	for _, unit := range []string{"- 1\n", "- {}\n", "- -\n", "- - - - 1\n", "- a: b\n", "- a:\n", "- [1,2]\n", "- {'a':1}\n", "- {\"a\":1}\n", "- ? a\n", "-\t1\n", "- &a 1\n", "- !!str 1\n"} {
		data := []byte("a:\n" + strings.Repeat(unit, bytes/len(unit)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseData(data)
		runtime.ReadMemStats(&after)
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; !apierrors.IsBadRequest(err) || allocated > 8 {
			t.Errorf("%q: %d MiB are allocated: %v", unit, allocated, err)
		}
		if patch := CheckData(data); !apierrors.IsBadRequest(patch) {
			t.Errorf("%q in a patch: %v", unit, patch)
		}
	}
	text := "kind: ConfigMap\ndata:\n  text: |\n" + strings.Repeat("    a line, 1\n", 100_000)
	if _, err := ParseData([]byte(text)); err != nil {
		t.Errorf("a long text: %v", err)
	}
	if _, err := ParseData([]byte(`{"a":[1` + strings.Repeat(",1", 1<<20) + "]}")); err != nil {
		t.Errorf("JSON, of which only the head is decoded: %v", err)
	}
}
