package mask

import (
	"strings"
	"testing"
)

func TestAppendJSON_KeepsOnlyThePathsOfTheMask(t *testing.T) {
	const pod = `{"kind":"Pod", "metadata":{"name":"a","labels":{"app":"x","app.io/n":"y"}},"spec":{"containers":[{"name":"c","image":"i","resources":{}},{"name":"d"}],"args":["1","2"],"matrix":[[{"a":1,"b":2},3],[]]},"status":{}}`
	for name, test := range map[string]struct {
		paths         []string
		want, parents string
	}{
		"a member":                   {[]string{"kind"}, `{"kind":"Pod"}`, ""},
		"all that is in it":          {[]string{"status"}, `{"status":{}}`, ""},
		"spaces stay":                {[]string{"kind", "metadata.name"}, `{"kind":"Pod","metadata":{"name":"a"}}`, ""},
		"in the object's order":      {[]string{"metadata.name", "kind"}, `{"kind":"Pod","metadata":{"name":"a"}}`, ""},
		"a name in quotes":           {[]string{"metadata.labels['app.io/n']"}, `{"metadata":{"labels":{"app.io/n":"y"}}}`, ""},
		"each element":               {[]string{"spec.containers[*].image"}, `{"spec":{"containers":[{"image":"i"},{}]}}`, ""},
		"each value":                 {[]string{"metadata.labels[*]"}, `{"metadata":{"labels":{"app":"x","app.io/n":"y"}}}`, ""},
		"each value of all objects":  {[]string{"[*].name"}, `{"metadata":{"name":"a"}}`, `{"kind":"Pod", "metadata":{"name":"a"},"spec":{},"status":{}}`},
		"a name and the others":      {[]string{"metadata[*].app", "metadata.labels['app.io/n']"}, `{"metadata":{"labels":{"app":"x","app.io/n":"y"}}}`, `{"metadata":{"name":"a","labels":{"app":"x","app.io/n":"y"}}}`},
		"a missing member":           {[]string{"a.b"}, `{}`, ""},
		"nothing is in it":           {[]string{"status.phase"}, `{}`, `{"status":{}}`},
		"nothing in a text":          {[]string{"kind.a", "kind[*]"}, `{}`, `{"kind":"Pod"}`},
		"nothing in any element":     {[]string{"spec.containers[*].x"}, `{}`, `{"spec":{"containers":[{},{}]}}`},
		"a name in a list":           {[]string{"spec.containers.name"}, `{}`, `{"spec":{"containers":[{},{}]}}`},
		"nothing in texts of a list": {[]string{"spec.args[*].a"}, `{}`, `{"spec":{"args":["1","2"]}}`},
		"positions are kept":         {[]string{"spec.matrix[*][*].a"}, `{"spec":{"matrix":[[{"a":1},null],[]]}}`, `{"spec":{"matrix":[[{"a":1},3],[]]}}`},
		"all positions are kept":     {[]string{"spec.matrix[*][*]"}, `{"spec":{"matrix":[[{"a":1,"b":2},3],[]]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := parsed(t, test.paths...)
			checkJSON(t, m, pod, test.want)
			if test.parents == "" {
				test.parents = test.want
			}
			checkJSON(t, m.KeepingParents(), pod, strings.ReplaceAll(test.parents, `"kind":"Pod", "m`, `"kind":"Pod","m`))
		})
	}
}

func checkJSON(t *testing.T, m *Mask, text, want string) {
	t.Helper()
	got, err := m.AppendJSON([]byte("before"), []byte(text))
	if err != nil || string(got) != "before"+want {
		t.Errorf("%s cuts to %s, error %v, want before%s", m, got, err, want)
	}
}

func TestAppendJSON_CutsUnusualForms(t *testing.T) {
	m := parsed(t, "a/b.c", "n")
	for text, want := range map[string]string{
		` { "x" : 1 , "a\u002fb" : { "c" : [ 1 , "]" ] , "d" : 2 } } `: `{"a\u002fb" : {"c" : [ 1 , "]" ]}}`,
		`{"n":1,"n":2}`:                     `{"n":1,"n":2}`,
		`{"x":"\"","y\\":"\\","n":-1.5E+3}`: `{"n":-1.5E+3}`,
		`{"n":null}`:                        `{"n":null}`,
		`[]`:                                `[]`,
		`"a"`:                               `null`,
		"{}\n":                              `{}`,
	} {
		checkJSON(t, m, text, want)
	}
}

func TestAppendJSON_RejectsInvalidJSON(t *testing.T) {
	m := parsed(t, "a.b", "c[*].d")
	for _, text := range []string{
		"", " ", "{", `{"a`, `{"a"`, `{"a":`, `{"a":{`, `{"a":{"b"`, `{"a":{"b":1`, `{"a":1 "b":2}`, `{"a":1}}`, `{"c":[`,
		`{"c":[{}`, `{"c":[{},`, `{"c":[{} {}]}`, `{"x":"\`, `{"x":[}`, `{"a" 1}`, `{1:2}`, `{"c":[}]}`, `{"a":,}`,
	} {
		if got, err := m.AppendJSON([]byte("before"), []byte(text)); err == nil || string(got) != "before" {
			t.Errorf("%s is cut to %s, error %v", text, got, err)
		}
	}
}

func TestPath_ValuesFindsEachValue(t *testing.T) {
	const pod = `{"metadata":{"labels":{"a":"x","b":null}},"spec":{"containers":[{"name":"c"},{},{"name":{"n":1}}],"m":[[1, 2],[3]]}}`
	for path, want := range map[string]string{
		"metadata.labels.a":       `"x"`,
		"metadata.labels.b":       `null`,
		"metadata.labels[*]":      `"x"|null`,
		"metadata.labels":         `{"a":"x","b":null}`,
		"metadata.labels.a.b":     ``,
		"metadata.x":              ``,
		"spec.containers.name":    ``,
		"spec.containers[*].name": `"c"|{"n":1}`,
		"spec.m[*]":               `[1, 2]|[3]`,
		"spec.m[*][*]":            `1|2|3`,
		"[*][*].a":                `"x"`,
	} {
		parsed, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		parsed.Values([]byte(pod), func(value []byte) { found = append(found, string(value)) })
		if got := strings.Join(found, "|"); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
		if single := !strings.Contains(path, "*"); parsed.IsSingle() != single {
			t.Errorf("%s: single is %t", path, !single)
		}
	}
}
