package auth

import (
	"maps"
	"net/http"
	"strings"
)

// StripImpersonation takes the Impersonate- headers off requests from outside: whom
// the service impersonates follows from who is calling, and from nothing else.
func StripImpersonation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // a handler's own request is not to be changed
		r.Header = r.Header.Clone()
		stripImpersonation(r.Header)
		next.ServeHTTP(w, r)
	})
}

func stripImpersonation(header http.Header) {
	maps.DeleteFunc(header, func(name string, _ []string) bool { return impersonates(name) })
}

// impersonatePrefix begins all the headers by which the API server lets one user act as
// another, and such as it may yet invent.
const impersonatePrefix = "Impersonate-"

func impersonates(header string) bool {
	return len(header) >= len(impersonatePrefix) && strings.EqualFold(header[:len(impersonatePrefix)], impersonatePrefix)
}
