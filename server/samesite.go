package server

import (
	"net/http"
	"slices"
)

// sameSite keeps pages of other sites from the API. A browser says of each request, in
// Sec-Fetch-Site, whether a page of another site has made it, even one whose answer that page may
// not read: whether it succeeds can tell what objects contain. Listed origins may call by CORS.
// The console's own files are for everyone, since other pages may link to them; they have
// their own headers.
func sameSite(origins []string, mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "/" {
			mux.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		if isCrossSite(r) && !isListed(origins, r) {
			http.Error(w, "a page of another site may not call this service: its operator can allow an origin by --cors-origin",
				http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isCrossSite reports whether a browser says that a page of another origin has made a request. Of one that
// the user has made, by typing an address, it says "none".
func isCrossSite(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), func(site string) bool {
		return site != "same-origin" && site != "none"
	})
}

func isListed(origins []string, r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "cors" && slices.Contains(origins, r.Header.Get("Origin"))
}
