package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// CheckLoopback returns an error unless an address to listen on, HOST:PORT, is reachable only from
// this machine.
func CheckLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w; give HOST:PORT, such as 127.0.0.1:8080", address, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("address %q is not a loopback address: without authentication, every client that reaches it "+
			"acts as the kubeconfig's user; listen on 127.0.0.1 or use --auth cluster", address)
	}
	return nil
}

// LoopbackOnly passes only requests that a program on this machine has made intentionally. It
// rejects requests of web pages of other origins, whether the page sends requests directly or has
// its own name resolved to a loopback address (DNS rebinding): Host must name a loopback address,
// and Origin, if a browser sends it, this service. Requests that a browser marks as sent for
// another site are rejected too, except navigations, because other pages are allowed to link to the
// console. Therefore the API itself must reject navigations of other sites, which <object> and
// <iframe> also cause.
func LoopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkLocal(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkLocal(r *http.Request) error {
	if !isLoopback(hostname(r.Host)) {
		return fmt.Errorf("host %q is not a loopback address: without authentication, requests must be made to "+
			"localhost or 127.0.0.1", r.Host)
	}
	if fetched := r.Header.Get("Sec-Fetch-Site"); (fetched == "cross-site" || fetched == "same-site") &&
		r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return fmt.Errorf("a page of another site is not allowed to call %q: without authentication, only the "+
			"page served by this service is", r.Host)
	}
	for _, origin := range r.Header.Values("Origin") {
		parsed, err := url.Parse(origin)
		if err != nil || !isLoopback(parsed.Hostname()) || !strings.EqualFold(parsed.Host, r.Host) {
			return fmt.Errorf("origin %q is not allowed to call %q: without authentication, only the page served "+
				"by this service is", origin, r.Host)
		}
	}
	return nil
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
