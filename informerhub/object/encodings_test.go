package object

import "testing"

// TestObject_CachesTheFirstEncodings encodes twice with each slot.
func TestObject_CachesTheFirstEncodings(t *testing.T) {
	o := pod(t, "a", 1)
	o.CacheEncodings()
	for slot, want := range map[int]int{0: 1, MaxEncodings - 1: 1, MaxEncodings: 2, 100: 2, -1: 2} {
		encoded, patched := 0, 0
		for range 2 {
			o.Encoded(Encoding{slot, func(*Object) []byte { encoded++; return nil }})
			o.EncodedPatch(o, PatchEncoding{slot, func(_, _ *Object) []byte { patched++; return nil }})
		}
		if encoded != want || patched != want {
			t.Errorf("in slot %d it was encoded %d times, and as a patch %d times, want %d", slot, encoded, patched, want)
		}
	}
}
