package kubejson

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// check compares Append with its guarantee.
func check(t *testing.T, kind schema.GroupVersionKind, message []byte) {
	t.Helper()
	want, wantErr := appendByGoType(nil, kind, message)
	got, err := Append([]byte("before"), kind, message)
	switch {
	case wantErr != nil && (err == nil || err.Error() != wantErr.Error()):
		t.Errorf("%v: error %v, want %v", kind, err, wantErr)
	case wantErr == nil && err != nil:
		t.Errorf("%v: %v, but its Go type reads it", kind, err)
	case string(got) != "before"+string(want):
		t.Errorf("%v:\n got %s\nwant before%s", kind, got, want)
	}
}

// checkDirect also checks that the direct conversion was certain.
func checkDirect(t *testing.T, kind schema.GroupVersionKind, message []byte) {
	t.Helper()
	check(t, kind, message)
	root := rootOf(kind)
	if root == nil {
		t.Errorf("%v can only be converted by its Go type", kind)
	} else if _, ok := transcode(nil, root, message); !ok {
		t.Errorf("%v: the direct conversion was not certain of\n%x", kind, message)
	}
}
