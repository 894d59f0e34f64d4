package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tester has the common methods of tests of testing and of rapid.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func decode(t tester, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

// appended returns the patch of two texts, appended to a prefix that must not change.
func appended(t tester, diff func(dst, before, after []byte) ([]byte, bool), before, after string) (patch string, ok bool) {
	t.Helper()
	made, ok := diff([]byte("kept"), []byte(before), []byte(after))
	patch, isKept := strings.CutPrefix(string(made), "kept")
	if !isKept || !ok && patch != "" {
		t.Fatalf("the prefix was changed to %q", made)
	}
	return patch, ok
}

// padded returns an object that is large enough for any patch of a few members.
func padded(members string) string {
	return fmt.Sprintf(`{%s,"~":%q}`, members, strings.Repeat("x", 200))
}

// anObject draws an object of few names, so that two of them have much in common.
func anObject(t *rapid.T, label string) map[string]any {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("text \\ \" \n é"),
		rapid.Map(rapid.IntRange(0, 3), func(n int) any { return float64(n) }),
	)
	var value func(depth int) *rapid.Generator[any]
	object := func(depth int) *rapid.Generator[map[string]any] {
		return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d\"", "é"}), value(depth), 0, 5)
	}
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, leaf,
			rapid.Map(rapid.Deferred(func() *rapid.Generator[map[string]any] { return object(depth - 1) }), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 3), func(l []any) any { return l }),
		)
	}
	drawn := object(3).Draw(t, label)
	drawn["~"] = strings.Repeat("x", 500)
	return drawn
}

// written returns an object in JSON, with its members in any order.
func written(t *rapid.T, value any) string {
	switch value := value.(type) {
	case map[string]any:
		var members []string
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(value))).Draw(t, "order") {
			quoted, _ := json.Marshal(name)
			members = append(members, string(quoted)+":"+written(t, value[name]))
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, element := range value {
			elements = append(elements, written(t, element))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// TestDiffer_HostileInputTakesNoMoreTime would not end within the test's time if the texts took
// quadratic time.
func TestDiffer_HostileInputTakesNoMoreTime(t *testing.T) {
	const size = 2 << 20
	for name, text := range map[string]string{
		"backslashes":      `{"a":"` + strings.Repeat(`\\`, size/2) + `"}`,
		"escaped quotes":   `{"a":"` + strings.Repeat(`\"`, size/2) + `"}`,
		"no end":           `{"a":"` + strings.Repeat(`\`, size),
		"many names":       `{` + manyNames(size/12) + `}`,
		"one name":         `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"brackets":         strings.Repeat("[", size),
		"objects, nested":  `{"a":` + strings.Repeat(`{"a":`, 98) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("}", 99),
		"lists, nested":    `{"a":` + strings.Repeat("[", 98) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("]", 98) + `}`,
		"a long path":      `{"` + strings.Repeat("/", size/4) + `":{"a":[` + strings.Repeat("1,", size/4) + `1]}}`,
		"a list of empty":  `{"a":[` + strings.Repeat("{},", size/3) + `{}]}`,
		"escapes in names": `{"` + strings.Repeat(`\u0061`, size/6) + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			other := strings.Replace(text, `"a":`, `"b":`, 1)
			for _, diff := range []func(dst, before, after []byte) ([]byte, bool){MergePatch, JSONPatch} {
				diff(nil, []byte(text), []byte(text))
				diff(nil, []byte(text), []byte(other))
			}
		})
	}
}

func manyNames(count int) string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf(`"%07x":1`, (i*7919)%(1<<28)))
	}
	return strings.Join(names, ",")
}
