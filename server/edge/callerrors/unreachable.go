package callerrors

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// withoutAddresses returns the error for callers. A connection error names addresses inside the
// cluster: it is logged, and callers get the kind of the failure.
func withoutAddresses(err error) error {
	var unavailable *discovery.UnavailableError
	if errors.As(err, &unavailable) {
		return logged(err, unavailable.Err)
	}
	var request *url.Error
	var connection *net.OpError
	switch {
	case errors.As(err, &request) && apierror.IsNoFailure(request.Err):
		return request.Err
	case request != nil, errors.As(err, &connection):
		return logged(err, err)
	}
	return err
}

// logged logs an error, and returns the error for callers.
func logged(err, failed error) error {
	slog.Warn("the API server cannot be reached", "error", err)
	return apierror.Failure(metav1.StatusReasonServiceUnavailable,
		"the service cannot reach the cluster's API server: %s; try again, and if this lasts ask the operator of the service, whose log says more",
		meaningOf(failed))
}

// meaningOf returns a description of a connection failure.
func meaningOf(err error) string {
	var record tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var alert tls.AlertError
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.As(err, &untrusted), errors.As(err, &authority):
		return "its certificate is not trusted"
	case errors.As(err, &record), err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS"
	case err != nil && strings.Contains(err.Error(), "HTTP request to an HTTPS server"):
		return "it speaks TLS, and the service does not"
	case errors.As(err, &alert):
		return "it refuses the TLS connection"
	case errors.As(err, &name):
		return "its name cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it does not respond in time"
	}
	return "the connection fails"
}
