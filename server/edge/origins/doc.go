// Package origins decides which pages of browsers can call the service: those of the service itself, and those of
// the origins that its operator lists. [SameSite] rejects requests from pages of other sites, and [CORS] lets
// browsers send those of listed origins, which [CheckOrigin] checks when the service starts. A request that changes
// objects or opens a stream cannot be made by GET, which every page can make a browser send.
//
//	handler = origins.CORS(listed, origins.SameSite(listed, mux))
//
// The package imports call only, for the names of headers.
package origins
