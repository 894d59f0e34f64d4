package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPeer_NetworkIsOneIPv4AddressOrIPv6Subnet(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:1":               "192.0.2.1/32",
		"[::ffff:192.0.2.1]:1":      "192.0.2.1/32",
		"[2001:db8:0:1:2:3:4:5]:1":  "2001:db8:0:1::/64",
		"[fe80::1%eth0]:1":          "fe80::/64",
		"":                          "invalid Prefix",
		"@":                         "invalid Prefix",
		"a-name-that-is-no-address": "invalid Prefix",
	} {
		t.Run(address, func(t *testing.T) {
			if got := (peer{address: address}).network().String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestWithPeer_PassesTheAddressOfTheConnection(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	request.RemoteAddr = "192.0.2.1:1"
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
		request.Header.Set(name, "192.0.2.2")
	}
	WithPeer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := peerFrom(r.Context()).address; got != "192.0.2.1:1" {
			t.Errorf("%s was used", got)
		}
	})).ServeHTTP(httptest.NewRecorder(), request)
}
