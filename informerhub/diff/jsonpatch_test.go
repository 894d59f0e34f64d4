package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"pgregory.net/rapid"
)

// checkOperations fails unless the patch, if there is one, leads from one text to the other.
func checkOperations(t tester, before, after string) (patch string, ok bool) {
	t.Helper()
	if patch, ok = appended(t, JSONPatch, before, after); !ok {
		return "", false
	}
	operations, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	got, err := operations.Apply([]byte(before))
	if err != nil {
		t.Fatalf("%s to %s: %v", patch, before, err)
	}
	if !reflect.DeepEqual(decode(t, string(got)), decode(t, after)) {
		t.Fatalf("%s changes %s to %s, want %s", patch, before, got, after)
	}
	return patch, true
}

// said returns a short form of a patch: its operations without their punctuation.
func said(t *testing.T, patch string) string {
	t.Helper()
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(patch)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&operations); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, o := range operations {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Op, o.Path, o.Value)))
	}
	return strings.Join(words, ", ")
}

func TestJSONPatch_ContainsTheChanges(t *testing.T) {
	long := strings.Repeat("y", 50)
	for name, test := range map[string]struct{ before, after, want string }{
		"nothing":                            {`"a":1`, `"a":1`, ``},
		"another value":                      {`"a":1,"b":2`, `"a":1,"b":3`, `replace /b 3`},
		"a new member":                       {`"a":1`, `"a":1,"b":{"c":[]}`, `add /b {"c":[]}`},
		"a member that is gone":              {`"a":1,"b":2`, `"a":1`, `remove /b`},
		"a member in an object":              {`"a":{"b":1,"c":"` + long + `"}`, `"a":{"b":2,"c":"` + long + `"}`, `replace /a/b 2`},
		"an object that is short":            {`"a":{"b":1,"c":1}`, `"a":{"b":2,"c":2}`, `replace /a {"b":2,"c":2}`},
		"an object in place of a text":       {`"a":"b"`, `"a":{}`, `replace /a {}`},
		"an object in place of a list":       {`"a":[]`, `"a":{}`, `replace /a {}`},
		"null":                               {`"a":1,"c":null`, `"a":null,"b":null`, `replace /a null, add /b null, remove /c`},
		"members in another order":           {`"b":1,"a":{"d":1,"c":2}`, `"a":{"c":2,"d":1},"b":1`, ``},
		"an element":                         {`"a":[1,2,3]`, `"a":[1,4,3]`, `replace /a/1 4`},
		"something within an element":        {`"a":[{"b":1,"c":"` + long + `"}]`, `"a":[{"b":2,"c":"` + long + `"}]`, `replace /a/0/b 2`},
		"an element in an element":           {`"a":[["` + long + `",1]]`, `"a":[["` + long + `",2]]`, `replace /a/0/1 2`},
		"an element at the beginning":        {`"a":["` + long + `"]`, `"a":[0,"` + long + `"]`, `add /a/0 0`},
		"elements at the end":                {`"a":["` + long + `"]`, `"a":["` + long + `",1,2]`, `add /a/1 1, add /a/2 2`},
		"one gone from the beginning":        {`"a":[0,"` + long + `"]`, `"a":["` + long + `"]`, `remove /a/0`},
		"some gone from the middle":          {`"a":["` + long + `",1,2,3]`, `"a":["` + long + `",3]`, `remove /a/1, remove /a/1`},
		"some gone, and one other":           {`"a":["` + long + `",1,2,3]`, `"a":["` + long + `",4,3]`, `replace /a/1 4, remove /a/2`},
		"one of many that are the same":      {`"a":[1,1,1,"` + long + `"]`, `"a":[1,1,"` + long + `"]`, `remove /a/2`},
		"one gone, and one at the end":       {`"a":["` + long + `",1,2,3,4]`, `"a":["` + long + `",2,3,4,5]`, `remove /a/1, add /a/4 5`},
		"one new, and one gone":              {`"a":["` + long + `",1,2,3,4]`, `"a":["` + long + `",5,1,2,3]`, `add /a/1 5, remove /a/5`},
		"one to the end, and changed":        {`"a":[{"b":1,"c":"` + long + `"},{"d":"` + long + `"}]`, `"a":[{"d":"` + long + `"},{"b":2,"c":"` + long + `"}]`, `remove /a/0, add /a/1 {"b":2,"c":"` + long + `"}`},
		"one moved to the beginning":         {`"a":["` + long + `",1,2,"` + long + `y"]`, `"a":["` + long + `",2,1,"` + long + `y"]`, `remove /a/1, add /a/2 1`},
		"two changed, one between":           {`"a":["` + long + `",1,2,3]`, `"a":["` + long + `",4,2,5]`, `replace /a/1 4, replace /a/3 5`},
		"one changed, the next one gone":     {`"a":["` + long + `",1,2,3,"` + long + `",4]`, `"a":["` + long + `",5,3,"` + long + `",6]`, `replace /a/1 5, remove /a/2, replace /a/4 6`},
		"a list that is emptied":             {`"a":[1,2,3]`, `"a":[]`, `replace /a []`},
		"a name with a slash":                {`"a/b":{"c~1":1,"d":"` + long + `"}`, `"a/b":{"c~1":2,"d":"` + long + `"}`, `replace /a~1b/c~01 2`},
		"a name that is escaped":             {`"\u0061\"\\":1`, `"\u0061\"\\":2`, `replace /a"\ 2`},
		"a name that is written differently": {`"a":1`, `"\u0061":2`, `replace /a 2`},
		"a name without letters":             {`"":{"":1,"a":"` + long + `"}`, `"":{"":2,"a":"` + long + `"}`, `replace // 2`},
		"a name of another alphabet":         {`"é":1`, `"é":2`, `replace /é 2`},
		"a name that is a number":            {`"0":1`, `"0":2`, `replace /0 2`},
		"a name that is read otherwise":      {`"a":{"\ud800":1,"b":2}`, `"a":{"\ud800":2,"b":2}`, `replace /a {"\ud800":2,"b":2}`},
		"one that stays as it is":            {`"a":{"\ud800":1,"b":"` + long + `","c":1}`, `"a":{"\ud800":1,"b":"` + long + `","c":2}`, `replace /a/c 2`},
		"a name that is there twice":         {`"a":{"b":1,"b":2}`, `"a":{"b":1}`, `replace /a {"b":1}`},
		"a path that is as long":             {`"a":{"` + long + `":[1]}`, `"a":{"` + long + `":[2]}`, `replace /a/` + long + `/0 2`},
	} {
		t.Run(name, func(t *testing.T) {
			patch, ok := checkOperations(t, padded(test.before), padded(test.after))
			if !ok {
				t.Fatal("there is no patch")
			}
			if got := said(t, patch); got != test.want {
				t.Errorf("the patch is %s, want %s", got, test.want)
			}
		})
	}
}

func TestJSONPatch_ReturnsFalseIfItCannotExpressTheChange(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"a name of it that is there twice":      {padded(`"a":1,"a":2`), padded(`"a":1`)},
		"a name of it that is read otherwise":   {padded(`"\ud800":1`), padded(`"\ud800":2`)},
		"more than half of the object":          {`{"a":"xxxxxxxxxx","b":1}`, `{"a":"yyyyyyyyyy","b":1}`},
		"what is no object":                     {`[1,2,3,4,5,6]`, `[1,2,3,4,5,7]`},
		"a number that is too large, in a list": {padded(`"a":[-1E999],"b":1`), padded(`"a":[-1E999],"b":2`)},
		"lists that lie too deep":               {padded(`"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), padded(`"a":1`)},
		"a list that is cut":                    {padded(`"a":1`), `{"a":[1,`},
		"one that is cut before an element":     {padded(`"a":1`), `{"a":[`},
		"a member that is cut before its value": {padded(`"a":1`), `{"a":`},
	} {
		t.Run(name, func(t *testing.T) {
			if patch, ok := JSONPatch(nil, []byte(test.before), []byte(test.after)); ok {
				t.Errorf("there is a patch: %s", patch)
			}
		})
	}
}

func TestJSONPatch_TurnsAnyObjectIntoAnyOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := anObject(t, "before"), anObject(t, "after")
		text := written(t, after)
		if _, ok := checkOperations(t, written(t, before), text); !ok && len(text) < 600 {
			t.Fatalf("there is no patch of %v and %v", before, after)
		}
	})
}

func TestJSONPatch_TurnsAnyListIntoAnyOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(label string) string {
			numbers := rapid.SliceOfN(rapid.IntRange(1, 3), 0, 8).Draw(t, label)
			text, _ := json.Marshal(slices.Clone(numbers))
			return fmt.Sprintf(`{"a":["%s",%s],"~":"%s"}`, strings.Repeat("x", 200), text, strings.Repeat("x", 500))
		}
		if _, ok := checkOperations(t, list("before"), list("after")); !ok {
			t.Fatal("there is no patch")
		}
	})
}

// FuzzJSONPatch checks the law for any two texts, and that none causes a panic.
func FuzzJSONPatch(f *testing.F) {
	f.Add(`{"a":1,"b":{"c":null}}`, `{"b":{"c":2}}`)
	f.Add(padded(`"a":[{"/":1},2,3]`), padded(`"a":[{"/":2},3]`))
	f.Add(padded(`"\u0061":{"~":1}`), padded(`"a":{"~":[2]}`))
	f.Fuzz(func(t *testing.T, before, after string) {
		if !json.Valid([]byte(before)) || !json.Valid([]byte(after)) {
			JSONPatch(nil, []byte(before), []byte(after))
			return
		}
		checkOperations(t, before, after)
		checkOperations(t, before, before)
	})
}
