package auth

import (
	"crypto/sha256"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
)

// clientsKey tells callers apart who need clients of their own: by who they are and, if
// they act by their own token, by that.
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

// transportFor sends requests as a caller. Nothing that a request may already say about
// who it is from comes through.
func (f *ClientFactory) transportFor(identity Identity) http.RoundTripper {
	var next http.RoundTripper
	switch {
	case identity.token != nil && identity.token() != "":
		next = transport.NewBearerAuthRoundTripper(identity.token(), f.asNobody)
	case identity.token != nil:
		next = refusing{errNoToken}
	case identity.Username == "":
		next = refusing{errNobody}
	default:
		next = f.impersonating(identity)
	}
	return stripping{next}
}

// stripping takes off what a request says about who it is from.
type stripping struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s stripping) RoundTrip(request *http.Request) (*http.Response, error) {
	request = utilnet.CloneRequest(request)
	request.Header.Del("Authorization")
	stripImpersonation(request.Header)
	return s.next.RoundTrip(request)
}

var (
	errNobody  = unauthenticated("nobody is calling")
	errNoToken = forbidden("requests are made with the caller's own bearer token here, and a client certificate cannot be passed on: " +
		"send \"Authorization: Bearer TOKEN\"")
)

// forbidden returns an error of the API server's kind, Forbidden.
func forbidden(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
	}}
}

// refusing answers every request with an error.
type refusing struct{ err error }

// RoundTrip implements [http.RoundTripper].
func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, r.err
}
