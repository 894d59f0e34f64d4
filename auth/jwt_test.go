package auth

import (
	"encoding/base64"
	"testing"
	"time"
)

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestExpiry_ReadFromTheTokenIfPresent(t *testing.T) {
	second := time.Unix(1800000000, 0)
	for name, test := range map[string]struct {
		token string
		want  time.Time
	}{
		"an end":                  {jwt(`{"exp":1800000000}`), second},
		"an end with a fraction":  {jwt(`{"exp":1800000000.75}`), second},
		"an end in powers of ten": {jwt(`{"exp":1.8e9}`), second},
		"an end among others":     {jwt(`{"iss":"x","exp":1800000000,"kubernetes.io":{"exp":1}}`), second},
		"no end":                  {jwt(`{"iss":"x"}`), time.Time{}},
		"an end that is none":     {jwt(`{"exp":null}`), time.Time{}},
		"an end as text":          {jwt(`{"exp":"1800000000"}`), time.Time{}},
		"an end before all":       {jwt(`{"exp":-1}`), time.Time{}},
		"an end at zero":          {jwt(`{"exp":0}`), time.Time{}},
		"an end after all":        {jwt(`{"exp":1e300}`), time.Time{}},
		"claims that are none":    {jwt(`[1]`), time.Time{}},
		"claims cut off":          {jwt(`{"exp":1800000000`), time.Time{}},
		"what is not base64":      {"a.!.b", time.Time{}},
		"two parts":               {"e30.e30", time.Time{}},
		"five parts":              {jwt(`{"exp":1800000000}`) + ".a.b", time.Time{}},
		"no JWT":                  {"abc", time.Time{}},
		"nothing":                 {"", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := expiry(test.token); !got.Equal(test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func FuzzExpiry(f *testing.F) {
	for _, seed := range []string{`{"exp":1}`, `{"exp":1e99}`, `{"exp":-0}`, `[]`, `{"exp":"1"}`, `{"exp":{}}`} {
		f.Add("e30.", seed, ".x")
	}
	f.Fuzz(func(t *testing.T, before, claims, after string) {
		for _, token := range []string{before + claims + after, before + base64.RawURLEncoding.EncodeToString([]byte(claims)) + after} {
			if end := expiry(token); !end.IsZero() && (end.Unix() < 0 || end.Unix() > lastSecond) {
				t.Errorf("expires at %s", end)
			}
		}
	})
}
