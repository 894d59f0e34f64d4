package auth

import (
	"crypto/sha256"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
)

// clientsKey identifies a set of clients: by the caller's identity and, if the clients send the
// caller's own token, by the token.
type clientsKey struct {
	identity Key
	token    [sha256.Size]byte
}

func clientsKeyOf(identity Identity) clientsKey {
	key := clientsKey{identity: identity.Key()}
	if identity.token != nil {
		key.token = sha256.Sum256([]byte("token " + identity.token()))
	}
	return key
}

// transportFor returns a transport that sends requests as the caller. It removes all credentials
// and impersonation headers that a request already has.
func (f *ClientFactory) transportFor(identity Identity) http.RoundTripper {
	var next http.RoundTripper
	switch {
	case identity.token != nil && identity.token() != "":
		next = transport.NewBearerAuthRoundTripper(identity.token(), f.anonymous)
	case identity.token != nil:
		next = failingTransport{errNoToken}
	case identity.Username == "":
		next = failingTransport{errNoUser}
	default:
		next = f.impersonating(identity)
	}
	return strippingTransport{next}
}

// strippingTransport removes credentials and impersonation headers from requests.
type strippingTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s strippingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = utilnet.CloneRequest(request)
	request.Header.Del("Authorization")
	stripImpersonation(request.Header)
	return s.next.RoundTrip(request)
}

var (
	errNoUser  = unauthenticated("request has no authenticated user")
	errNoToken = forbidden("a client certificate cannot be passed on, and requests are made with the " +
		"caller's own bearer token: send \"Authorization: Bearer TOKEN\"")
)

// forbidden returns an error of the API server's type, Forbidden.
func forbidden(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: message,
	}}
}

// failingTransport fails every request with an error.
type failingTransport struct{ err error }

// RoundTrip implements [http.RoundTripper].
func (r failingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, r.err
}
