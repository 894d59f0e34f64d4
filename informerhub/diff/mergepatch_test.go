package diff

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// applyMerge is the MergePatch of RFC 7386, section 2, as written there.
func applyMerge(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	made, ok := target.(map[string]any)
	if !ok {
		made = map[string]any{}
	}
	for name, value := range members {
		if value == nil {
			delete(made, name)
		} else {
			made[name] = applyMerge(made[name], value)
		}
	}
	return made
}

// checkMerge fails unless the patch, if there is one, leads from one text to the other.
func checkMerge(t tester, before, after string) (patch string, ok bool) {
	t.Helper()
	if patch, ok = appended(t, MergePatch, before, after); !ok {
		return "", false
	}
	if got, want := applyMerge(decode(t, before), decode(t, patch)), decode(t, after); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s changes %s to %v, want %s", patch, before, got, after)
	}
	return patch, true
}

func TestMergePatch_ContainsTheChanges(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"nothing":                      {`"a":1`, `"a":1`, `{}`},
		"another value":                {`"a":1,"b":2`, `"a":1,"b":3`, `{"b":3}`},
		"a new member":                 {`"a":1`, `"a":1,"b":{"c":[]}`, `{"b":{"c":[]}}`},
		"a member that is gone":        {`"a":1,"b":2`, `"a":1`, `{"b":null}`},
		"a member in an object":        {`"a":{"b":1,"c":2}`, `"a":{"b":1,"c":3}`, `{"a":{"c":3}}`},
		"one gone from an object":      {`"a":{"b":1,"c":2}`, `"a":{"b":1}`, `{"a":{"c":null}}`},
		"an object that is emptied":    {`"a":{"b":1}`, `"a":{}`, `{"a":{"b":null}}`},
		"an object in place of a text": {`"a":"b"`, `"a":{}`, `{"a":{}}`},
		"a text in place of an object": {`"a":{"b":1}`, `"a":"b"`, `{"a":"b"}`},
		"a list, as a whole":           {`"a":[1,{"b":2}]`, `"a":[1,{"b":3}]`, `{"a":[1,{"b":3}]}`},
		"null in a list":               {`"a":[1]`, `"a":[null,{"b":null}]`, `{"a":[null,{"b":null}]}`},
		"null that was there":          {`"a":null,"b":1`, `"a":null,"b":2`, `{"b":2}`},
		"null that is gone":            {`"a":null,"b":{"c":null}`, `"b":{"c":1}`, `{"a":null,"b":{"c":1}}`},
		"members in another order":     {`"b":1,"a":{"d":1,"c":2}`, `"a":{"c":2,"d":1},"b":1`, `{}`},
		"names with escapes":           {`"\u0061":1,"b\"":2`, `"a":1,"b\u0022":3`, `{"b\u0022":3}`},
		"a name that is escaped twice": {`"a\\":{"\\\"":1}`, `"a\\":{"\\\"":2}`, `{"a\\":{"\\\"":2}}`},
		"spaces":                       {`"a" : { "b" : 1 }`, `"a":{"b":1}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			if patch, ok := checkMerge(t, padded(test.before), padded(test.after)); !ok || patch != test.want {
				t.Errorf("the patch is %s, %t, want %s", patch, ok, test.want)
			}
		})
	}
}

func TestMergePatch_ReturnsFalseIfItCannotExpressTheChange(t *testing.T) {
	deep := func(end string) string { return strings.Repeat(`{"a":`, 100) + end + strings.Repeat("}", 100) }
	for name, test := range map[string]struct{ before, after string }{
		"a member that becomes null":     {padded(`"a":1`), padded(`"a":null`)},
		"a new member that is null":      {padded(`"b":1`), padded(`"b":1,"a":null`)},
		"null in a new object":           {padded(`"b":1`), padded(`"b":1,"a":{"c":{"d":null}}`)},
		"null in place of a list":        {padded(`"a":[1]`), padded(`"a":{"b":null}`)},
		"null in an object that is kept": {padded(`"a":{"b":1}`), padded(`"a":{"b":null}`)},
		"a name that is there twice":     {padded(`"a":1,"a":2`), padded(`"a":1`)},
		"one twice, by an escape":        {padded(`"a":1`), padded(`"a":1,"\u0061":2`)},
		"more than half of the object":   {`{"a":"xxxxxxxxxx","b":1}`, `{"a":"yyyyyyyyyy","b":1}`},
		"what is no object":              {`[1,2,3,4,5,6]`, `[1,2,3,4,5,7]`},
		"a number that is too large":     {padded(`"a":1e999`), padded(`"a":1`)},
		"one in a list":                  {padded(`"a":[-1E999],"b":1`), padded(`"a":[-1E999],"b":2`)},
		"one with many digits":           {padded(`"a":` + strings.Repeat("9", 400)), padded(`"a":1`)},
		"objects that lie too deep":      {padded(`"x":` + deep("1")), padded(`"x":` + deep("2"))},
		"malformed JSON":                 {padded(`"a":nul`), padded(`"a":1`)},
		"something behind it":            {padded(`"a":1`), padded(`"a":2`) + "}"},
		"a text that is cut":             {padded(`"a":1`), padded(`"a":2`)[:100]},
	} {
		t.Run(name, func(t *testing.T) {
			if patch, ok := MergePatch(nil, []byte(test.before), []byte(test.after)); ok {
				t.Errorf("there is a patch: %s", patch)
			}
		})
	}
}

// sayable reports whether a merge patch can express the difference of two values.
func sayable(before, after any) bool {
	now, ok := after.(map[string]any)
	if !ok {
		return after != nil || before == nil
	}
	was, _ := before.(map[string]any)
	for name, value := range now {
		old, there := was[name]
		if value == nil && (!there || old != nil) || value != nil && !sayable(old, value) {
			return false
		}
	}
	return true
}

func TestMergePatch_TurnsAnyObjectIntoAnyOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := anObject(t, "before"), anObject(t, "after")
		patch, ok := checkMerge(t, written(t, before), written(t, after))
		if ok != sayable(before, after) && len(patch) < 200 {
			small, _ := json.Marshal(after)
			if ok || len(small) < 600 {
				t.Fatalf("the patch of %v and %v is %s, %t", before, after, patch, ok)
			}
		}
	})
}

// FuzzMergePatch checks the law for any two texts, and that none causes a panic.
func FuzzMergePatch(f *testing.F) {
	f.Add(`{"a":1,"b":{"c":null}}`, `{"b":{"c":2}}`)
	f.Add(`{"\u0061":[{}],"a\\":"é"}`, `{"a":1e3}`)
	f.Add(padded(`"a":{"b":1}`), padded(`"a":{"b":2}`))
	f.Fuzz(func(t *testing.T, before, after string) {
		if !json.Valid([]byte(before)) || !json.Valid([]byte(after)) {
			MergePatch(nil, []byte(before), []byte(after))
			return
		}
		checkMerge(t, before, after)
		checkMerge(t, before, before)
	})
}
