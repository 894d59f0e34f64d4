package mask

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePath_ReadsKubectlNotation(t *testing.T) {
	for text, want := range map[string]string{
		"metadata.name":                "metadata.name",
		".metadata.name":               "metadata.name",
		"{.metadata.name}":             "metadata.name",
		" { .metadata.name } ":         "metadata.name",
		"$.metadata.name":              "metadata.name",
		"{$.metadata.name}":            "metadata.name",
		"$['metadata'].name":           "metadata.name",
		"spec.containers[*].image":     "spec.containers[*].image",
		"spec.containers.*.image":      "spec.containers[*].image",
		"spec.containers[ * ]['a']":    "spec.containers[*].a",
		`["metadata"]["labels"]`:       "metadata.labels",
		"[*]":                          "[*]",
		"a.['b'].c":                    "a.b.c",
		`metadata.labels.app\.io/name`: "metadata.labels['app.io/name']",
		`m['app\.io/name']`:            "m['app.io/name']",
		`m["it's"]`:                    `m['it\'s']`,
		`m['a\\b']`:                    `m['a\\b']`,
		"spec.$ref":                    "spec['$ref']",
		"$ref":                         "['$ref']",
		"a.f:metadata":                 "a.f:metadata",
		"a['']":                        "a['']",
		"größe.x-y_z/1":                "größe.x-y_z/1",
	} {
		path, err := ParsePath(text)
		if err != nil || path.String() != want {
			t.Errorf("%s is %s, error %v, want %s", text, path, err, want)
		}
	}
}

func TestParsePath_ErrorsDescribeTheFault(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "names no field",
		".":                            "names no field",
		"{}":                           "names no field",
		"$":                            "names no field",
		"a..b":                         `".." is not supported`,
		"..a":                          `".." is not supported`,
		"a.":                           "a name is missing",
		"a[0]":                         "single elements",
		"a[-1].b":                      "single elements",
		"a[]":                          "single elements",
		"a[0:1]":                       "slices",
		"a['b','c']":                   "not closed",
		"a[?(@.b=='c')]":               "conditions",
		"a[b]":                         "write ['b']",
		"a[":                           "not closed",
		"a['b":                         "quote is not closed",
		`a['b\`:                        "quote is not closed",
		"a['b'":                        "bracket is not closed",
		"{.a":                          "brace is not closed",
		"a}":                           `write a name with '}'`,
		"a b":                          `write a name with ' '`,
		"a[*]b":                        `expected a dot or a bracket before "b"`,
		`a.\`:                          `write a name with '\\'`,
		"a\xff":                        "not UTF-8",
		strings.Repeat("a.", 32) + "a": "33 steps",
	} {
		_, err := ParsePath(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
	_, err := ParsePath("spec.containers[0].image")
	if want := `"spec.containers[0].image": single elements are not supported: write [*] for each element`; err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestMask_KeyIsTheSameForTheSamePaths(t *testing.T) {
	one := parsed(t, "b", "a.c", "a['b']", "{.a.b.x}", "d[*].e")
	other := parsed(t, "d[*].e", "a.b", "a.c", "a.b", "b.c.d", "$.b")
	if one.String() != other.String() || one.String() != "a.b,a.c,b,d[*].e" {
		t.Errorf("the masks are %s and %s", one, other)
	}
	if one.Key() != other.Key() {
		t.Error("two masks of the same paths have different keys")
	}
	if parents := one.KeepingParents(); parents.String() == one.String() || parents.Key() == one.Key() {
		t.Error("a mask that keeps parents has the text or the key of one that does not")
	}
	none, err := Parse(nil)
	if none != nil || err != nil || none.String() != "" {
		t.Errorf("no paths are the mask %v, error %v", none, err)
	}
	if empty, _ := Of(); empty.Key() == none.Key() {
		t.Error("a mask that keeps nothing has the key of no mask")
	}
	if parsed(t, "a", "b").Key() == parsed(t, "['a,b']").Key() || parsed(t, "a.b").Key() == parsed(t, "['a.b']").Key() {
		t.Error("two masks with different paths have the same key")
	}
}

func parsed(t testing.TB, paths ...string) *Mask {
	t.Helper()
	m, err := Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse_RejectsTooManyPaths(t *testing.T) {
	// crossing has a name at each step of one path, and [*] everywhere else. What is kept depends
	// on which names have matched, in any combination.
	var crossing []string
	for i := range maxDepth - 2 {
		steps := slices.Repeat([]string{"[*]"}, maxDepth-2)
		steps[i] = "['a']"
		crossing = append(crossing, "x"+strings.Join(steps, "")+".y")
	}
	for name, test := range map[string]struct {
		paths []string
		want  string
	}{
		"257":      {slices.Repeat([]string{"a"}, 257), "257 paths"},
		"17 KiB":   {[]string{strings.Repeat("a", 17<<10)}, "too long"},
		"crossing": {crossing[:30], "too many of the paths have [*]"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(test.paths); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
