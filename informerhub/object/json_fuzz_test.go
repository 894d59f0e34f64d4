package object

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"unicode/utf8"
)

var jsonSeeds = []string{
	`{}`, `null`, ``, `{`, `[1,2]`, `"text"`, `{"metadata":{}}`, `{"metadata":null}`, `{"metadata":7}`,
	`{"metadata":{"managedFields":[{"a":1}]}}`,
	`{"metadata":{"managedFields":[],"name":"a"}}`,
	` { "metadata" : { "name" : "a" , "managedFields" : [ {} ] } , "spec" : { } } `,
	`{"metadata":{"name":"a","managedFields":[{"x":"}\"],["}],"uid":"u","labels":{"a":"b","c":"d"}},"spec":{"managedFields":[1]}}`,
	`{"metadata":{"name":"A\"\\\n😀","namespace":"é","resourceVersion":"12","labels":null}}`,
	`{"kind":"Status","apiVersion":"v1","metadata":{},"reason":"Expired","code":410}`,
	`{"kind":"WidgetList","metadata":{"resourceVersion":"9","continue":"c"},"items":[{"metadata":{"name":"a"}},{}]}`,
	`{"kind":"WidgetList","metadata":{},"items":null}`, `{"kind":"WidgetList","items":[]}`, `{"kind":"X","metadata":{},"items":[1,,]}`,
	`{"a":-1.5e+10,"b":[[[[]]]],"c":true}`, `{"a":1 "b":2}`, `{"a":1,}`, `{"metadata":{"name":1,"labels":{"a":1,"b":{}}}}`,
}

// FuzzReadJSON compares the values that are read from JSON with encoding/json.
func FuzzReadJSON(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	silenceLog(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = (&Codec{Kind: widgetKind()}).decodeJSON(body)
		_, _ = (&Codec{Kind: widgetKind(), KeepManagedFields: true}).decodeJSON(body)
		_, _ = Read(body)
		var want map[string]any
		if json.Unmarshal(body, &want) != nil || want == nil || !unambiguous(body) {
			return
		}
		metadata, ok := want["metadata"].(map[string]any)
		if !ok {
			return
		}
		object := (&Codec{Kind: widgetKind()}).jsonObject(body)
		object.Owners()
		if got, want := headOf(object), headIn(metadata); !reflect.DeepEqual(got, want) {
			t.Errorf("the head is %+v, want %+v", got, want)
		}
		checkWithoutManagedFields(t, object, want)
	})
}

func checkWithoutManagedFields(t *testing.T, object *Object, want map[string]any) {
	t.Helper()
	text, err := object.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	delete(want["metadata"].(map[string]any), "managedFields")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the content is %s", text)
	}
}

// headIn reads a head from the metadata as decoded by encoding/json. Values other than strings are
// ignored.
func headIn(metadata map[string]any) head {
	text := func(value any) string { s, _ := value.(string); return s }
	h := head{
		Namespace: text(metadata["namespace"]), Name: text(metadata["name"]),
		UID: text(metadata["uid"]), Version: text(metadata["resourceVersion"]),
	}
	labels, _ := metadata["labels"].(map[string]any)
	for key, value := range labels {
		if h.Labels == nil {
			h.Labels = make(map[string]string)
		}
		h.Labels[key] = text(value)
	}
	return h
}

// unambiguous reports whether parsers must agree on a text: it is UTF-8, and no object in it has a
// duplicate member. An API server sends nothing else.
func unambiguous(text []byte) bool {
	return utf8.Valid(text) && membersOnce(json.NewDecoder(bytes.NewReader(text)))
}

func membersOnce(decoder *json.Decoder) bool {
	type level struct {
		object  bool
		isValue bool
		seen    map[string]bool
	}
	levels := []*level{{}}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		top := levels[len(levels)-1]
		if key, ok := token.(string); ok && top.object && !top.isValue {
			if top.seen[key] {
				return false
			}
			top.seen[key], top.isValue = true, true
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			levels = append(levels, &level{object: token == json.Delim('{'), seen: make(map[string]bool)})
			continue
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
			top = levels[len(levels)-1]
		}
		top.isValue = false
	}
}
