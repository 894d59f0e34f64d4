package filter

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzCompile understands what a caller writes, or refuses it in few words.
func FuzzCompile(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		switch made, err := Compile(text); {
		case err != nil && len(err.Error()) > 2*maxIssues*maxIssueBytes:
			t.Errorf("is refused in %d bytes", len(err.Error()))
		case err == nil && made.String() != text:
			t.Errorf("comes back as %q", made)
		}
	})
}

// FuzzMatches holds an expression against an object, and against what it reads of it: the
// answer is the same, and costs no more than it may.
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
			t.Errorf("costs %d on one object", budget.spent)
		}
		if made.Mask() == nil || errors.Is(err, ErrTooCostly) {
			return
		}
		read, err := made.Mask().AppendJSON(nil, []byte(object))
		if err != nil {
			return
		}
		if again, _ := made.Matches(read, nil); again != matches {
			t.Errorf("%v of the object, %v of what is read of it: %s", matches, again, read)
		}
	})
}
