package filter

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzCompile compiles a caller's expression, or rejects it with a short error.
func FuzzCompile(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		switch made, err := Compile(text); {
		case err != nil && len(err.Error()) > 2*maxIssues*maxIssueBytes:
			t.Errorf("the error has %d bytes", len(err.Error()))
		case err == nil && made.String() != text:
			t.Errorf("the filter's text is %q", made)
		}
	})
}

// FuzzMatches evaluates an expression for an object, and for the fields that it reads: the result
// is the same, and within the cost limit.
func FuzzMatches(f *testing.F) {
	for _, text := range []string{
		`object.status.phase == 'Running'`, `has(object.a.b)`, `object.l.exists(c, c.i == 1)`, `object.m['a/b'] < 2.5`,
		`object.?a[?'b'].orValue(1) == 1`, `object.n.matches('^a+$')`, `object.l[0] in object.m`, `object == {'a': 1}`,
	} {
		f.Add(text, `{"status":{"phase":"Running"},"a":{"b":1},"l":[{"i":1},null],"m":{"a/b":2},"n":"aaa"}`)
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		made, err := Compile(text)
		if err != nil || !json.Valid([]byte(object)) {
			return
		}
		var budget Budget
		matches, err := made.Matches([]byte(object), &budget)
		if budget.spent > 3*maxObjectCost {
			t.Errorf("cost %d for one object", budget.spent)
		}
		if made.Mask() == nil || errors.Is(err, ErrTooCostly) {
			return
		}
		read, err := made.Mask().AppendJSON(nil, []byte(object))
		if err != nil {
			return
		}
		if again, _ := made.Matches(read, nil); again != matches {
			t.Errorf("%v for the object, %v for the fields that are read: %s", matches, again, read)
		}
	})
}
