package origins

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestIsForeign_ComparesTheOriginWithTheHost(t *testing.T) {
	for name, test := range map[string]struct {
		origin, site string
		want         bool
	}{
		"no page":                            {},
		"a page of this service":             {origin: "https://k.example.com", site: "same-origin"},
		"a page of an old browser":           {origin: "https://k.example.com"},
		"a page of a listed origin":          {origin: "https://app.example.com", site: "cross-site"},
		"a page of another origin":           {origin: "https://evil.example.com", want: true},
		"a page of another port":             {origin: "https://k.example.com:8443", want: true},
		"a page of another scheme":           {origin: "http://k.example.com", site: "cross-site", want: true},
		"a page without an origin":           {origin: "null", want: true},
		"an origin that is not valid":        {origin: "https://[::1", want: true},
		"a page whose origin begins as ours": {origin: "https://k.example.com.evil.org", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://k.example.com/api/v1/pods", nil)
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			if test.site != "" {
				r.Header.Set("Sec-Fetch-Site", test.site)
			}
			if got := IsForeign(r, []string{"https://app.example.com"}); got != test.want {
				t.Errorf("foreign %t, want %t", got, test.want)
			}
		})
	}
}
