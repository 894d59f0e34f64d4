package main

import (
	"slices"
	"testing"
)

func TestFlags_ExtraArgumentsReplaceDefaults(t *testing.T) {
	ours := flags{"a": "1", "b": "2"}
	for name, test := range map[string]struct{ extra, want []string }{
		"none":                            {nil, []string{"--a=1", "--b=2"}},
		"one replaces a default":          {[]string{"a=9"}, []string{"--b=2", "--a=9"}},
		"one is new":                      {[]string{"c=3"}, []string{"--a=1", "--b=2", "--c=3"}},
		"one given twice is passed twice": {[]string{"a=8", "a=9"}, []string{"--b=2", "--a=8", "--a=9"}},
		"a value may have =":              {[]string{"c=X=true,Y=false"}, []string{"--a=1", "--b=2", "--c=X=true,Y=false"}},
		"a value may be empty":            {[]string{"a="}, []string{"--b=2", "--a="}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ours.with(test.extra)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestFlags_InvalidArgumentsAreRejected(t *testing.T) {
	for _, extra := range []string{"a", "=1", "--a=1", ""} {
		if args, err := (flags{}).with([]string{extra}); err == nil {
			t.Errorf("%q was accepted as %q", extra, args)
		}
	}
}
