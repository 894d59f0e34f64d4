package auth

import (
	"maps"
	"net/http"
	"strings"
)

// StripImpersonation removes the Impersonate- headers from requests of clients: the impersonated
// user depends only on the authenticated caller.
func StripImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // a handler must not change its request
		r.Header = r.Header.Clone()
		stripImpersonation(r.Header)
		next.ServeHTTP(w, r)
	})
}

func stripImpersonation(header http.Header) {
	maps.DeleteFunc(header, func(name string, _ []string) bool { return impersonates(name) })
}

// impersonatePrefix is the prefix of all headers by which the API server lets one user act as
// another, including possible future ones.
const impersonatePrefix = "Impersonate-"

func impersonates(header string) bool {
	return len(header) >= len(impersonatePrefix) &&
		strings.EqualFold(header[:len(impersonatePrefix)], impersonatePrefix)
}
