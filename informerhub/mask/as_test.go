package mask

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMask_AsReplacesKindAndAPIVersion(t *testing.T) {
	only, err := Parse([]string{"metadata"})
	if err != nil {
		t.Fatal(err)
	}
	as := only.As(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"})
	if as.String() == only.String() || as.Key() == only.Key() {
		t.Error("the two masks have the same text or key")
	}
	const head = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`
	for text, want := range map[string]string{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}`: head + `,"metadata":{"name":"a"}}`,
		` {"metadata":{"name":"a"}} `:                                        head + `,"metadata":{"name":"a"}}`,
		`{"spec":{}}`:                                                        head + `}`,
	} {
		got, err := as.AppendJSON([]byte("before"), []byte(text))
		if err != nil || string(got) != "before"+want {
			t.Errorf("%s is cut to %s (%v), want %s", text, got, err, want)
		}
	}
}
