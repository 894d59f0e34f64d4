package kubejson

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityForTest = element{kind: quantityElement, goType: reflect.TypeFor[resource.Quantity]()}

// quantityMessage returns the message of a quantity with a given text.
func quantityMessage(text string) []byte {
	return append([]byte{quantityTag, byte(len(text))}, text...)
}

// checkCanonical checks that a text that is accepted as canonical is the one that the Go type
// writes.
func checkCanonical(t *testing.T, text string) (taken bool) {
	t.Helper()
	if !isCanonical([]byte(text)) {
		return false
	}
	w := writer{}
	if !w.own(&quantityForTest, quantityMessage(text)) || string(w.out) != `"`+text+`"` {
		t.Errorf("%q is canonically %s", text, w.out)
	}
	return true
}

func TestQuantity_OnlyCanonicalOnesAreCopied(t *testing.T) {
	taken := 0
	random := rand.New(rand.NewSource(1))
	for _, suffix := range []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "i", "mi", ".5", "x"} {
		for n := range 5000 {
			if checkCanonical(t, fmt.Sprintf("%d%s", n, suffix)) {
				taken++
			}
			_ = checkCanonical(t, fmt.Sprintf("%d%s", uint64(random.Int63())>>random.Intn(63), suffix))
		}
	}
	if taken < 10*4900 {
		t.Errorf("only %d are accepted as canonical", taken)
	}
}

func TestQuantity_UsualOnesAreCanonical(t *testing.T) {
	for _, text := range []string{"0", "1", "2", "100m", "250m", "1500m", "128Mi", "64Ki", "1536Ki", "16Gi", "500G", "110", "9500"} {
		if !checkCanonical(t, text) {
			t.Errorf("%s is not canonical", text)
		}
	}
}
