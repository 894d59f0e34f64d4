package origins

import (
	"net/http"
	"net/url"
	"slices"
)

// SameSite rejects requests to the API from pages of other sites. A browser reports in
// Sec-Fetch-Site whether a page of another site made a request, including requests whose response
// the page cannot read: their success alone can reveal the content of objects. Listed origins can
// call by CORS. The console's own files are for all pages, because other pages may link to them.
// They have their own headers.
func SameSite(origins []string, mux *http.ServeMux) http.Handler {
	api := API(origins, refuseByGET(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "/" {
			mux.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// API rejects all requests from pages of other sites, as SameSite does for those to the API.
func API(origins []string, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.Method == http.MethodGet {
			w.Header().Set("Cache-Control", "no-store") // until a read has succeeded: see conditional.Reads
		}
		if IsCrossSite(r) && !isListed(origins, r) {
			http.Error(w, "a page of another site cannot call this service: its operator can allow an origin with --cors-origin",
				http.StatusForbidden)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// IsCrossSite reports whether a browser reports that a page of another origin made the request. For
// a request that the user made, by typing an address, the browser sends "none".
func IsCrossSite(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), func(site string) bool {
		return site != "same-origin" && site != "none"
	})
}

func isListed(origins []string, r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "cors" && slices.Contains(origins, r.Header.Get("Origin"))
}

// IsForeign reports whether a page of an origin that is neither this service's nor listed has sent a request. Unlike API, it compares the
// Origin header itself, for requests that open a connection: browsers send the header with every WebSocket, and apply no CORS to it.
func IsForeign(r *http.Request, listed []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(listed, origin) {
		return false
	}
	from, err := url.Parse(origin)
	return err != nil || from.Host != r.Host || IsCrossSite(r)
}
