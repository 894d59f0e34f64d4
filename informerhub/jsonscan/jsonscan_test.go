package jsonscan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

func TestSkipString_EndsAtTheUnescapedQuote(t *testing.T) {
	for text, want := range map[string]int{
		`""`: 2, `"a"b"`: 3, `"\""`: 4, `"\\"`: 4, `"\\\""`: 6, `"\\\\"x`: 6, `"`: jsonscan.None, `"\"`: jsonscan.None, `a"`: jsonscan.None, ``: jsonscan.None,
	} {
		if end := jsonscan.SkipString([]byte(text), 0); end != want {
			t.Errorf("%s ends at %d, want %d", text, end, want)
		}
	}
}

// TestSkipString_ReadsBackslashesOnce would practically not end if each backslash caused another
// search for the quote.
func TestSkipString_ReadsBackslashesOnce(t *testing.T) {
	text := []byte(`"` + strings.Repeat(`\\`, 32<<20) + `"`)
	if end := jsonscan.SkipString(text, 0); end != len(text) {
		t.Errorf("ends at %d of %d", end, len(text))
	}
}

// FuzzSkipValue compares the ends of values with the result of encoding/json.
func FuzzSkipValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\\\""}],"c":null}`, `"\u0041"`, `[]`, `-1.5e+3`, `{"a":}`, `[[[`, `"\`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end := jsonscan.SkipValue(text, jsonscan.SkipSpace(text, 0))
		if end != jsonscan.None && (end < 0 || end > len(text)) {
			t.Fatalf("%q ends at %d", text, end)
		}
		if json.Valid(text) && jsonscan.SkipSpace(text, end) != len(text) {
			t.Fatalf("%q ends at %d", text, end)
		}
	})
}
