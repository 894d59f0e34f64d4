package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckLoopback_AcceptsOnlyLoopbackAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:8080":          true,
		"127.0.0.1:0":             true,
		"127.255.3.4:80":          true,
		"localhost:8080":          true,
		"LocalHost:8080":          true,
		"[::1]:8080":              true,
		"[::ffff:127.0.0.1]:8080": true,
		":8080":                   false,
		"0.0.0.0:8080":            false,
		"[::]:8080":               false,
		"192.168.1.7:8080":        false,
		"[::ffff:10.0.0.1]:8080":  false,
		"128.0.0.1:80":            false,
		"localhost.evil.com:8080": false,
		"localhost.:8080":         false,
		"127.0.0.1.evil.com:80":   false,
		"127.1:80":                false, // not every resolver parses it the same way
		"2130706433:80":           false,
		"127.0.0.1":               false,
		"::1":                     false,
		"":                        false,
	} {
		t.Run(address, func(t *testing.T) {
			err := CheckLoopback(address)
			if (err == nil) != ok {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), `"`+address+`"`) {
				t.Errorf("the error does not contain the address: %v", err)
			}
		})
	}
}

func TestLoopbackOnly_RejectsRequestsOfOtherHostsAndSites(t *testing.T) {
	for name, test := range map[string]struct {
		host   string
		header http.Header
		ok     bool
	}{
		"a program":                    {"127.0.0.1:8080", nil, true},
		"a program by name":            {"localhost:8080", nil, true},
		"in upper case":                {"LOCALHOST:8080", nil, true},
		"over IPv6":                    {"[::1]:8080", nil, true},
		"over IPv6 without a port":     {"[::1]", nil, true},
		"without a port":               {"localhost", nil, true},
		"the service's own page":       {"localhost:8080", origin("http://localhost:8080"), true},
		"its page in other letters":    {"localhost:8080", origin("http://LocalHost:8080"), true},
		"its page over IPv6":           {"[::1]:8080", origin("http://[::1]:8080"), true},
		"its page over TLS":            {"localhost:8443", origin("https://localhost:8443"), true},
		"its page, as browsers say it": {"localhost:8080", http.Header{"Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"cors"}}, true},
		"an address typed by the user": {"localhost:8080", http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}}, true},
		"a link on another page":       {"localhost:8080", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}, true},

		"a name that was bound to 127.0.0.1":   {"evil.com:8080", nil, false},
		"a name that begins like localhost":    {"localhost.evil.com:8080", nil, false},
		"a name that begins like an address":   {"127.0.0.1.evil.com", nil, false},
		"a name that ends like localhost":      {"evil-localhost:8080", nil, false},
		"a name below localhost":               {"evil.localhost:8080", nil, false},
		"an address of the network":            {"192.168.1.7:8080", nil, false},
		"no host":                              {"", nil, false},
		"a port alone":                         {":8080", nil, false},
		"a host with a user":                   {"localhost@evil.com", nil, false},
		"two ports":                            {"localhost:80:80", nil, false},
		"a page of another site":               {"localhost:8080", origin("https://evil.com"), false},
		"a page of a name like localhost":      {"localhost:8080", origin("http://localhost.evil.com:8080"), false},
		"a page of another port":               {"localhost:8080", origin("http://localhost:3000"), false},
		"a page of another loopback address":   {"localhost:8080", origin("http://127.0.0.1:8080"), false},
		"a page of a user named localhost":     {"localhost:8080", origin("http://localhost:8080@evil.com"), false},
		"a page without an origin":             {"localhost:8080", origin("null"), false},
		"a page with an empty origin":          {"localhost:8080", origin(""), false},
		"an origin that cannot be read":        {"localhost:8080", origin("http://[::1"), false},
		"its page and another one":             {"localhost:8080", http.Header{"Origin": {"http://localhost:8080", "https://evil.com"}}, false},
		"an image on another page":             {"localhost:8080", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}, false},
		"a script on a page of another port":   {"localhost:8080", http.Header{"Sec-Fetch-Site": {"same-site"}, "Sec-Fetch-Mode": {"cors"}}, false},
		"another page, of which no mode known": {"localhost:8080", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		"a form on another page":               {"localhost:8080", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Origin": {"https://evil.com"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			reached := false
			handler := LoopbackOnly(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			request.Host = test.host
			if test.header != nil {
				request.Header = test.header
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if reached != test.ok || (answer.Code == http.StatusForbidden) == test.ok {
				t.Errorf("reached: %v, status %d: %s", reached, answer.Code, answer.Body)
			}
		})
	}
}

func origin(value string) http.Header { return http.Header{"Origin": {value}} }
