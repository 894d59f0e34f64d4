package scalar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scalarIn(t interface{ Fatalf(string, ...any) }, value string) Value {
	one, ok := Parse([]byte(value))
	if !ok {
		t.Fatalf("%s is treated as an object or a list", value)
	}
	return one
}

func TestScalar_ComparedIsTheBeginningOfAString(t *testing.T) {
	x := strings.Repeat("x", MaxComparedBytes-2)
	for value, want := range map[string]string{
		`"` + x + `"`:       x,
		`"` + x + `ab"`:     x + "ab",
		`"` + x + `abc"`:    x + "ab",
		`"` + x + `é"`:      x + "é",
		`"` + x + `aé"`:     x + "a",
		`"` + x + `世界"`:     x,
		`"` + x + x + `"`:   (x + x)[:MaxComparedBytes],
		`"` + x + `\u00e9"`: x + "é",
	} {
		if got := scalarIn(t, value).Compared().text; got != want {
			t.Errorf("%d bytes, the end is %q: got %d bytes, the end is %q", len(value), value[len(value)-4:], len(got), got[len(got)-4:])
		}
	}
	for _, value := range []string{`null`, `true`, `0.1234567891`, `1e300`, `"500m"`, `9007199254740993`} {
		if one := scalarIn(t, value); one.Compared() != one {
			t.Errorf("%s is %v", value, one.Compared())
		}
	}
}

// TestScalar_IsOrderedAsDocumented has equal values in one line.
func TestScalar_IsOrderedAsDocumented(t *testing.T) {
	order := [][]string{
		{`null`},
		{`false`},
		{`true`},
		{`-1e300`},
		{`"-5"`, `-5`, `-5.0`},
		{`-0.5`, `"-500m"`},
		{`0`, `-0`, `"0"`, `0.0`, `"0m"`},
		{`1e-9`, `"1n"`},
		{`0.1234567891`},
		{`0.1234567892`},
		{`"250m"`, `0.25`, `"0.25"`},
		{`1`, `"1"`, `"1000m"`, `1e0`, `"1.0"`, `"+1"`},
		{`9`},
		{`10`, `"10"`},
		{`1000`, `"1k"`},
		{`1024`, `"1Ki"`},
		{`9007199254740992`},
		{`9007199254740993`, `"9007199254740993"`},
		{`9007199254740994`},
		{`"1Ei"`, `1152921504606846976`},
		{`1e300`},
		{`""`},
		{`"1e2147483647"`}, // computing with it takes forever
		{`"-1e-10000000"`},
		{`"a"`},
		{`"web-2"`},
		{`"web-02"`},
		{`"web-10"`},
		{`"web-10a"`},
		{`"é"`},
	}
	for i, line := range order {
		for _, a := range line {
			for j, other := range order {
				for _, b := range other {
					want := min(max(i-j, -1), 1)
					if got := scalarIn(t, a).Compare(scalarIn(t, b)); got != want {
						t.Errorf("%s and %s compare as %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}

func TestScalar_ObjectsAndListsAreNone(t *testing.T) {
	for _, value := range []string{`{}`, `[]`, `{"a":1}`, `[1]`} {
		if got, ok := Parse([]byte(value)); ok {
			t.Errorf("%s is %+v", value, got)
		}
	}
}

// aScalar generates JSON values. Values that are close to each other are likely.
var aScalar = rapid.Custom(func(t *rapid.T) string {
	text := func(generator *rapid.Generator[string]) string {
		quoted, err := json.Marshal(generator.Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "false", "true", `""`}).Draw(t, "constant")
	case 1:
		return fmt.Sprint(rapid.Int64().Draw(t, "integer"))
	case 2:
		number, err := json.Marshal(rapid.Float64().Draw(t, "number"))
		if err != nil {
			t.Fatal(err)
		}
		return string(number)
	case 3:
		return text(rapid.StringMatching(`[+-]?[0-9]{0,3}(\.[0-9]{0,2})?(m|n|k|Ki|Mi|E|e[+-]?[0-9]{1,5})?`))
	case 4:
		return text(rapid.StringMatching(`[ab0-9-]{0,4}`))
	}
	return text(rapid.String())
})

// TestScalar_OrderIsTotal verifies the precondition of sorting.
func TestScalar_OrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(aScalar, 3, 3).Draw(t, "values")
		a, b, c := scalarIn(t, texts[0]), scalarIn(t, texts[1]), scalarIn(t, texts[2])
		if a.Compare(a) != 0 {
			t.Fatalf("%s is not itself", texts[0])
		}
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%s and %s come in both orders", texts[0], texts[1])
		}
		all := []Value{a, b, c}
		slices.SortFunc(all, Value.Compare)
		if all[0].Compare(all[1]) > 0 || all[1].Compare(all[2]) > 0 || all[0].Compare(all[2]) > 0 {
			t.Fatalf("%v are in no order", texts)
		}
		if a.Compare(b) == 0 && a.Compare(c) != b.Compare(c) {
			t.Fatalf("%s and %s are equal, but not in comparison with %s", texts[0], texts[1], texts[2])
		}
	})
}

func TestParse_UnquotesStringsAsJSONDoes(t *testing.T) {
	for _, text := range []string{`""`, `"a"`, `"a b"`, `"a\n"`, `"\u00e9"`, `"é"`, "\"\xff\"", `"`, `"a`, `"a"b"`, `"a\"`, "\"a\nb\""} {
		var want string
		_ = json.Unmarshal([]byte(text), &want)
		if got := unquote([]byte(text)); got != want {
			t.Errorf("%q is unquoted to %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := append([]byte{'"'}, rapid.SliceOf(rapid.Byte()).Draw(t, "text")...)
		if rapid.Bool().Draw(t, "ends") {
			text = append(text, '"')
		}
		var want string
		_ = json.Unmarshal(text, &want)
		if got := unquote(text); got != want {
			t.Fatalf("%q is unquoted to %q, want %q", text, got, want)
		}
	})
}
