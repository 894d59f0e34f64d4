package mask

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"metadata.name", "{.a[*]['b.c']}", `$.a\.b["c"].*`, "a[0]", "a..b", `['\'\\']`, "a[?(@.b)]", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if err != nil {
			return
		}
		again, err := ParsePath(path.String())
		if err != nil || !slices.Equal(again, path) {
			t.Errorf("%q is %v, which is written %s, and that is %v, error %v", text, path, path, again, err)
		}
	})
}

// fuzzedPaths are selected by the bits of a number.
var fuzzedPaths = []string{
	"metadata.name", "metadata.labels['a']", "spec.containers[*].image", "spec[*].name", "[*].a", "a", "a.b", "a[*]",
	"a[*].b", "status", "data.k", "metadata.labels[*]", "spec.template.spec.containers[*].name", "[*][*]", "kind.x", "a.a",
}

func fuzzedMask(t *testing.T, which uint16) (m *Mask, paths []Path) {
	for i, text := range fuzzedPaths {
		if which>>i&1 == 0 {
			continue
		}
		path, err := ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	m, err := Of(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return m, paths
}

func FuzzJSON(f *testing.F) {
	for i, text := range []string{`{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{"containers":[{"image":"i"},{}]}}`, `{"a":[{"b":1},2,[]],"a":null}`, `{"\u0061":{"b":"\\\""}}`, ` [ { "a" : 1.5e3 } ] `, `{"a":[}`, ``} {
		f.Add(uint16(0x1111<<i), []byte(text))
		f.Add(uint16(0xffff), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which uint16, text []byte) {
		m, paths := fuzzedMask(t, which)
		for _, path := range paths {
			path.Values(text, func([]byte) {})
		}
		for _, m := range []*Mask{m, m.KeepingParents()} {
			masked, err := m.AppendJSON(nil, text)
			if !json.Valid(text) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !json.Valid(masked) {
				t.Fatalf("%s under %s is %s", text, m, masked)
			}
			if again, err := m.AppendJSON(nil, masked); err != nil || !bytes.Equal(again, masked) {
				t.Errorf("%s under %s is %s, and again %s, error %v", text, m, masked, again, err)
			}
			if hasNoNameTwice(text) {
				checkByOracle(t, m, paths, text, masked)
			}
		}
	})
}

// hasNoNameTwice reports whether a text has no duplicate names: of these the oracle knows only the
// last one.
func hasNoNameTwice(text []byte) bool {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return false
	}
	again, _ := json.Marshal(value)
	return bytes.Count(again, []byte(":")) == bytes.Count(text, []byte(":"))
}

// FuzzProtobuf compares messages of any kind with their JSON, if that can be encoded.
func FuzzProtobuf(f *testing.F) {
	all := samples.Kinds()
	for i, kind := range all {
		f.Add(uint16(i), uint16(0x1235*i), samples.Random(f, samples.NewFiller(int64(i), 0.7), kind))
	}
	configMap := uint16(slices.Index(all, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}))
	f.Add(configMap, uint16(13736), []byte("\x1a\x02\x0a\x05\x7a\x03xyz"))
	f.Fuzz(func(t *testing.T, number, which uint16, message []byte) {
		kind := all[int(number)%len(all)]
		m, _ := fuzzedMask(t, which)
		checkFuzzed(t, m, kind, message)
		checkFuzzed(t, m.KeepingParents(), kind, message)
	})
}

func checkFuzzed(t *testing.T, m *Mask, kind schema.GroupVersionKind, message []byte) {
	masked := m.AppendProtobuf(nil, kind, message)
	if text, err := kubejson.Append(nil, kind, message); err == nil {
		if len(masked) > len(message) {
			t.Errorf("%d bytes are cut to %d", len(message), len(masked))
		}
		checkForms(t, m, kind, message, text)
	}
}
