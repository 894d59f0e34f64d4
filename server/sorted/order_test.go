package sorted

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestParse_ParsesPathsAndDirections(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"metadata.name":                         "metadata.name",
		" metadata.name  desc ":                 "-metadata.name",
		"status.phase,spec.a ASC":               "status.phase spec.a",
		"{.status.phase} desc,$.spec.a asc, .b": "-status.phase spec.a b",
		"metadata.labels['a,b'] desc,x":         "-metadata.labels['a,b'] x",
		`metadata.labels["a desc"],x`:           "metadata.labels['a desc'] x",
		`metadata.labels['it\'s, so'],x`:        `metadata.labels['it\'s, so'] x`,
		"spec.desc":                             "spec.desc",
	} {
		t.Run(text, func(t *testing.T) {
			o, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, path := range o.paths {
				got = append(got, map[bool]string{true: "-"}[o.descending[i]]+path.String())
			}
			if strings.Join(got, " ") != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestParse_RejectsInvalidOrders(t *testing.T) {
	for text, says := range map[string]string{
		",":                               "names no field",
		"desc":                            "names no field",
		"a,":                              "names no field",
		"a desc desc":                     "['name']",
		"a b":                             "['name']",
		"a[*].b":                          "several values",
		"a.*":                             "several values",
		"a[0]":                            "single elements",
		"a['b":                            "quote is not closed",
		strings.Repeat("a,", 8) + "a":     "9 paths",
		strings.Repeat("a", 16<<10) + "a": "bytes",
	} {
		if _, err := Parse(text); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q returned %v, not %q", text, err, says)
		}
	}
}
