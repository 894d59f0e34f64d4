package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestBearerToken_ReadFromOneAuthorizationHeader(t *testing.T) {
	for name, test := range map[string]struct {
		values []string
		token  string
		says   string // of the error; empty if there is none
	}{
		"none":                    {nil, "", ""},
		"a token":                 {[]string{"Bearer abc.def-_~+/="}, "abc.def-_~+/=", ""},
		"in other letters":        {[]string{"bEARER abc"}, "abc", ""},
		"with spaces about":       {[]string{"  Bearer   abc "}, "abc", ""},
		"a token from a file":     {[]string{"Bearer a:b!c"}, "a:b!c", ""},
		"an empty header":         {[]string{""}, "", "does not begin with Bearer"},
		"a scheme alone":          {[]string{"Bearer"}, "", "no token"},
		"a scheme and a space":    {[]string{"Bearer "}, "", "no token"},
		"a token alone":           {[]string{"secret"}, "", "does not begin with Bearer"},
		"a scheme run together":   {[]string{"Bearer:secret"}, "", "does not begin with Bearer"},
		"another scheme":          {[]string{"Secret secret"}, "", "does not begin with Bearer"},
		"Basic":                   {[]string{"Basic c2VjcmV0"}, "", "does not support Basic"},
		"two tokens":              {[]string{"Bearer secret other"}, "", "a space"},
		"two tokens with a comma": {[]string{"Bearer secret,Bearer"}, "", "a comma"},
		"a tab":                   {[]string{"Bearer se\tcret"}, "", "character"},
		"a zero":                  {[]string{"Bearer se\x00cret"}, "", "character"},
		"what is not ASCII":       {[]string{"Bearer sécret"}, "", "character"},
		"two headers":             {[]string{"Bearer secret", "Bearer other"}, "", "2 Authorization headers"},
		"two headers of one kind": {[]string{"Bearer secret", "Bearer secret"}, "", "2 Authorization headers"},
		"as long as may be":       {[]string{"Bearer " + strings.Repeat("a", maxToken)}, strings.Repeat("a", maxToken), ""},
		"too long":                {[]string{"Bearer " + strings.Repeat("a", maxToken+1)}, "", "65537 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := bearerToken(http.Header{"Authorization": test.values})
			if token != test.token || (err == nil) != (test.says == "") {
				t.Fatalf("got %q, %v", token, err)
			}
			if err == nil {
				return
			}
			if !errors.Is(err, ErrUnauthenticated) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q", err, test.says)
			}
			for _, part := range []string{"secret", "other", "c2V", "cret"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error contains the credential: %v", err)
				}
			}
		})
	}
}

func FuzzBearerToken(f *testing.F) {
	for _, seed := range []string{"", "Bearer a", "bearer  a ", "Basic YTpi", "Bearer a b", "Bearer a,b", "Bearer é", "\x00"} {
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, value string, twice bool) {
		header := http.Header{"Authorization": {value}}
		if twice {
			header.Add("Authorization", value)
		}
		token, err := bearerToken(header)
		switch {
		case err != nil:
			if !errors.Is(err, ErrUnauthenticated) || token != "" {
				t.Errorf("got %q, %v", token, err)
			}
		case twice, token == "", len(token) > maxToken, !strings.Contains(value, token), strings.ContainsFunc(token, notInToken):
			t.Errorf("%q is parsed as the token %q", value, token)
		}
	})
}
