package auth

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// TestClientFactory_RejectsIdentitiesThatHeadersCannotCarry is about identities that an HTTP header
// cannot represent: over HTTP/1.1 white space at the ends is removed, and "admin " would be
// "admin".
func TestClientFactory_RejectsIdentitiesThatHeadersCannotCarry(t *testing.T) {
	extra := func(key string, values ...string) Identity {
		return Identity{Username: "alice", Extra: map[string][]string{key: values}}
	}
	for name, identity := range map[string]Identity{
		"a blank at the end of the name":  {Username: "admin "},
		"a blank at its beginning":        {Username: " admin"},
		"a tab":                           {Username: "admin\t"},
		"a line's end":                    {Username: "admin\n"},
		"a no-break space":                {Username: "admin\u00a0"},
		"an ideographic space":            {Username: "\u3000admin"},
		"a next line":                     {Username: "admin\u0085"},
		"a control character in the name": {Username: "ad\x00min"},
		"a DEL":                           {Username: "ad\x7fmin"},
		"no UTF-8":                        {Username: "admin\xa0"},
		"a UID":                           {Username: "alice", UID: "1 "},
		"a group":                         {Username: "alice", Groups: []string{"devs", "system:masters "}},
		"an extra's value":                extra("scopes", "full "),
		"an extra's second value":         extra("scopes", "full", "\ta"),
		"an extra's key":                  extra("scopes ", "full"),
		"a control character in a key":    extra("sco\x01pes", "full"),
		"extra keys that become one":      {Username: "alice", Extra: map[string][]string{"Scopes": {"a"}, "scopes": {"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if headers := sent(t, identity); len(headers) != 0 {
				t.Errorf("sends %v", headers)
			}
			factory, err := NewClientFactory(&rest.Config{Host: "http://api.example"}, nil)
			must(t, err)
			for _, err := range call(t, factory.For(identity)) {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot impersonate this user") {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

func TestClientFactory_ImpersonatesUnusualNamesExactly(t *testing.T) {
	for _, name := range []string{"jane doe", "CN=Jané,O=x", "дарья", "a\u200b", "voilà"} {
		headers := sent(t, Identity{Username: name, Groups: []string{name}, Extra: map[string][]string{"Example.com/K": {name, ""}}})
		if len(headers) != 2 {
			t.Fatalf("%d requests", len(headers))
		}
		for _, header := range headers {
			extra := header.Values("Impersonate-Extra-Example.com%2Fk")
			if header.Get("Impersonate-User") != name || header.Get("Impersonate-Group") != name || len(extra) != 2 || extra[0] != name {
				t.Errorf("%q is sent as %v", name, header)
			}
		}
	}
}
