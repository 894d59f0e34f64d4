package listkey

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOf_IsEqualForEqualListsOnly(t *testing.T) {
	lists := rapid.Custom(func(t *rapid.T) []string {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "a b", `"a" "b"`, ","}), 0, 3).Draw(t, "list")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		same := (a == nil) == (b == nil) && slices.Equal(a, b)
		if got := Of(a) == Of(b); got != same {
			t.Errorf("Of(%#v) == Of(%#v) is %t, want %t", a, b, got, same)
		}
	})
}

func TestOfFunc_KeysAreNested(t *testing.T) {
	key := func(lists ...[]string) Key[Key[string]] { return OfFunc(lists, Of) }
	if key([]string{"a"}, []string{"b"}) == key([]string{"a", "b"}) {
		t.Error("two lists have the key of one list with the same elements")
	}
	if key(nil) == key([]string{}) {
		t.Error("a list of nil has the key of a list of an empty list")
	}
}
