package main

import (
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
)

func TestProse_IsMarkdownOfAComment(t *testing.T) {
	t.Parallel()
	p := &page{types: map[string]bool{"ListRequest": true}}
	for name, test := range map[string]struct {
		comment protogen.Comments
		indent  string
		want    string
	}{
		"a sentence":            {comment: " The version.\n", want: "The version.\n"},
		"two paragraphs":        {comment: " One.\n\n Two.\n", indent: "    ", want: "    One.\n\n    Two.\n"},
		"a list":                {comment: " Ends with\n - OK;\n - FAILED.\n", want: "Ends with\n\n- OK;\n- FAILED.\n"},
		"a line of a list item": {comment: " - one,\n   continued\n", want: "\n- one,\n  continued\n"},
		"a known message":       {comment: " As in ListRequest.\n", want: "As in [ListRequest](#ListRequest).\n"},
		"an unknown name":       {comment: " As in GetRequest.\n", want: "As in GetRequest.\n"},
		"a word":                {comment: " List returns objects.\n", want: "List returns objects.\n"},
		"characters of markup":  {comment: " a[*] < b\n", want: "a\\[\\*] &lt; b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := p.prose(test.comment, test.indent); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
