package object

import (
	"slices"
	"testing"
)

func TestEachMember_VisitsMembersAndRejectsMalformedObjects(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:                          nil,
		` { } `:                       nil,
		`{"a":1}`:                     {"a", "1"},
		`{ "a" : [1,2] , "b\n": {} }`: {"a", "[1,2]", "b\n", "{}"},
	} {
		var got []string
		err := eachMember([]byte(text), func(m member) bool {
			got = append(got, m.key, string(m.value))
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{``, `[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1 "b":2}`, `{"a":1,}`, `{,"a":1}`, `{a:1}`} {
		if err := eachMember([]byte(text), func(member) bool { return true }); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestEachElement_VisitsElementsAndRejectsMalformedArrays(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`:                   nil,
		`[ "a" , 1, {"b":2} ]`: {`"a"`, "1", `{"b":2}`},
	} {
		var got []string
		err := eachElement([]byte(text), func(element []byte) { got = append(got, string(element)) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{``, `{}`, `[`, `[1`, `[1,`, `[1 2]`, `[1,]`, `[,1]`} {
		if err := eachElement([]byte(text), func([]byte) {}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
