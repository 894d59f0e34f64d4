package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// CheckLoopback fails unless an address to listen on, HOST:PORT, is reachable from
// this machine alone.
func CheckLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w; give HOST:PORT, such as 127.0.0.1:8080", address, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("address %q is not a loopback address: without authentication, whoever reaches it "+
			"acts as the kubeconfig's user; listen on 127.0.0.1 or use --auth cluster", address)
	}
	return nil
}

// Loopback lets only requests through that a program on this machine has made on
// purpose. A web page of another origin cannot pass as one, whether it sends its
// requests here itself or has its own name resolved to a loopback address (DNS
// rebinding): Host must name a loopback address, and Origin, where a browser sends
// it, this very service; and what a browser says of itself to fetch for another
// site is refused, unless it is a navigation: other pages may link to the console. So the API
// must refuse navigations of other sites itself: <object> and <iframe> make them too.
func Loopback(next http.Handler) http.Handler {
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
		return fmt.Errorf("a page of another site may not call %q: without authentication, only the page served "+
			"by this service may", r.Host)
	}
	for _, origin := range r.Header.Values("Origin") {
		from, err := url.Parse(origin)
		if err != nil || !isLoopback(from.Hostname()) || !strings.EqualFold(from.Host, r.Host) {
			return fmt.Errorf("origin %q may not call %q: without authentication, only the page served "+
				"by this service may", origin, r.Host)
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
