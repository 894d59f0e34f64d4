package call

import (
	"crypto/rand"
	"net/http"
	"strings"
)

// RequestIDHeader is the header with the ID of a request. The service uses the ID that a client sends,
// if it is valid, and otherwise a new one. It is in each response, in the log, and in the API
// server's audit log where the request is passed on.
const RequestIDHeader = "X-Request-Id"

// maxRequestID is the maximum length of an ID, as the API server's Audit-ID has.
const maxRequestID = 64

// RequestIDOf returns the ID that a client has sent, or a new one.
func RequestIDOf(r *http.Request) string {
	if sent := r.Header.Get(RequestIDHeader); isRequestID(sent) {
		return strings.Clone(sent) // the headers are released before the call ends
	}
	return strings.ToLower(rand.Text())
}

// auditIDHeader is the header with the ID of a request in the API server's audit log.
const auditIDHeader = "Audit-ID"

// SendRequestID wraps a transport to the API server so that the requests of a call have its ID in the
// audit log.
func SendRequestID(next http.RoundTripper) http.RoundTripper { return requestIDSender{next} }

type requestIDSender struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s requestIDSender) RoundTrip(request *http.Request) (*http.Response, error) {
	if id := RequestID(request.Context()); id != "" {
		request = request.Clone(request.Context())
		request.Header.Set(auditIDHeader, id)
	}
	return s.next.RoundTrip(request)
}

// isRequestID reports whether an ID can be written to a log as it is.
func isRequestID(id string) bool {
	for _, c := range []byte(id) {
		isAlphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !isAlphanumeric && !strings.ContainsRune("-_.:", rune(c)) {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
