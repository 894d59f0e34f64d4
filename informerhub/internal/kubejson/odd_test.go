package kubejson

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAppend_EqualsGoTypesForOddMessages has messages that no API server writes, and that their Go
// type can read.
func TestAppend_EqualsGoTypesForOddMessages(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	lease := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	for name, test := range map[string]struct {
		kind    schema.GroupVersionKind
		message string
	}{
		"a key twice":                  {configMap, "\x12\x06\x0a\x01k\x12\x01a\x12\x06\x0a\x01k\x12\x01b"},
		"keys out of order":            {configMap, "\x12\x06\x0a\x01l\x12\x01a\x12\x06\x0a\x01k\x12\x01b"},
		"a value before its key":       {configMap, "\x12\x06\x12\x01a\x0a\x01k"},
		"a key without a value":        {configMap, "\x12\x03\x0a\x01k"},
		"a value without a key":        {configMap, "\x12\x03\x12\x01a"},
		"an empty entry":               {configMap, "\x12\x00"},
		"more in an entry":             {configMap, "\x12\x08\x0a\x01k\x12\x01a\x18\x01"},
		"a map in two parts":           {configMap, "\x12\x06\x0a\x01k\x12\x01a\x0a\x00\x12\x06\x0a\x01l\x12\x01b"},
		"metadata in two parts":        {configMap, "\x0a\x03\x0a\x01a\x0a\x03\x1a\x01b"},
		"a name twice":                 {configMap, "\x0a\x06\x0a\x01a\x0a\x01b"},
		"an unknown field":             {configMap, "\xf8\x3f\x01\x0a\x03\x0a\x01a"},
		"an unknown group":             {configMap, "\xfb\x3f\x08\x01\xfc\x3f\x0a\x03\x0a\x01a"},
		"32 bits of 64, all of them 0": {deployment, "\x1a\x06\x10\x80\x80\x80\x80\x10"},
		"a number in too many bytes":   {deployment, "\x1a\x05\x10\x81\x80\x80\x00"},
		"a bit too many":               {deployment, "\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"},
		"a time without seconds":       {configMap, "\x0a\x04\x42\x02\x10\x01"},
		"a time of zero":               {configMap, "\x0a\x0d\x42\x0b\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01"},
		"a negative part of a second":  {lease, "\x12\x0f\x22\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, test.kind, []byte(test.message))
			if _, err := appendByGoType(nil, test.kind, []byte(test.message)); err != nil {
				t.Errorf("its Go type does not read it: %v", err)
			}
		})
	}
}
