package samples

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// Random returns the message of a random object of a kind.
func Random(t testing.TB, filler *randfill.Filler, kind schema.GroupVersionKind) []byte {
	t.Helper()
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(object)
	message, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// NewFiller returns a filler for objects that an API server may contain.
func NewFiller(seed int64, nilChance float64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(nilChance).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = randomString(c) },
		func(q *resource.Quantity, c randfill.Continue) { *q = randomQuantity(c) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(c.Uint32()))
			if c.Bool() {
				*v = intstr.FromString(randomString(c))
			}
		},
		func(m *metav1.Time, c randfill.Continue) { *m = metav1.NewTime(randomTime(c)) },
		func(m *metav1.MicroTime, c randfill.Continue) { *m = metav1.NewMicroTime(randomTime(c)) },
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = randomJSON(c) },
		func(f *metav1.FieldsV1, c randfill.Continue) { *f = *metav1.NewFieldsV1(string(randomJSON(c))) },
	)
}

// randomString usually returns an identifier, and sometimes a string that needs escapes.
func randomString(c randfill.Continue) string {
	switch c.Intn(4) {
	case 0:
		return c.String(20)
	case 1:
		return pick(c, "", "<b>&amp;</b>", "\u2028\u2029\x00\x1f\x7f", "a\xffb\xc3", `{"a":"\n"}`, "line\nline\ttab")
	}
	return fmt.Sprintf("registry.example.com/name-%d", c.Intn(100000))
}

func randomQuantity(c randfill.Continue) resource.Quantity {
	suffix := pick(c, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-3")
	sign := pick(c, "", "", "", "-")
	return resource.MustParse(fmt.Sprintf("%s%d%s%s",
		sign, c.Int63n(1<<c.Intn(40)), pick(c, "", "", ".5", ".125", "000"), suffix))
}

func randomTime(c randfill.Continue) time.Time {
	switch c.Intn(4) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(c.Int63n(1<<40)-1<<39, c.Int63n(1e9))
	}
	return time.Unix(1.7e9+c.Int63n(1e8), c.Int63n(1e9))
}

func randomJSON(c randfill.Continue) []byte {
	return []byte(pick(c,
		`{"apiVersion":"a","kind":"<b>"}`, `{ "f:metadata" : { ".": {} } }`, "null", "7", "[\"\u2028\"]", `"text"`))
}

func pick(c randfill.Continue, from ...string) string { return from[c.Intn(len(from))] }
