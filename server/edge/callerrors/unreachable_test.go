package callerrors

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// TestConnectError_NamesNoAddress has errors of net/http and net that have not been classified:
// callers get the kind of the failure, or the error that the request was rejected with.
func TestConnectError_NamesNoAddress(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6443}, Err: syscall.ECONNREFUSED}
	request := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.1.2.3:6443/api/v1/pods", Err: err}
	}
	for name, test := range map[string]struct {
		err  error
		code connect.Code
		says string
	}{
		"a request that does not arrive": {request(dial), connect.CodeUnavailable, "the connection is refused"},
		"a connection alone":             {dial, connect.CodeUnavailable, "the connection is refused"},
		"an end of file":                 {request(errors.New("EOF from 10.1.2.3:6443")), connect.CodeUnavailable, "the connection fails"},
		"a request that is refused here": {request(apierrors.NewForbidden(podResource, "a", errors.New("no"))), connect.CodePermissionDenied, "forbidden: no"},
		"a caller who is nobody":         {request(auth.ErrUnauthenticated), connect.CodeUnauthenticated, "unauthenticated"},
		"a caller who has left":          {request(context.Canceled), connect.CodeCanceled, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ConnectError(test.err)
			if text := err.Error() + statustest.Of(t, err).GetMessage(); strings.Contains(text, "10.1.2.3") || !strings.Contains(text, test.says) {
				t.Errorf("the caller gets %q", text)
			}
			if connect.CodeOf(err) != test.code {
				t.Errorf("the code is %s, want %s", connect.CodeOf(err), test.code)
			}
		})
	}
}

// TestWithoutAddresses_SaysHowAConnectionFailed expects no address in the error for callers, and
// the address in the log.
func TestWithoutAddresses_SaysHowAConnectionFailed(t *testing.T) {
	const address = "10.1.2.3:6443"
	for name, test := range map[string]struct {
		err   error
		words string
	}{
		"refused":     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "the connection is refused"},
		"not trusted": {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "its certificate is not trusted"},
		"plain text":  {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "it does not speak TLS"},
		"also plain":  {errors.New("http: server gave HTTP response to HTTPS client"), "it does not speak TLS"},
		"no name":     {&net.DNSError{Err: "no such host", Name: "api.internal"}, "its name cannot be resolved"},
		"slow":        {&net.DNSError{Err: "x", IsTimeout: true}, "its name cannot be resolved"},
		"timeout":     {&url.Error{Op: "Get", URL: address, Err: timeoutError{}}, "it does not respond in time"},
		"cut":         {errors.New("EOF"), "the connection fails"},
	} {
		t.Run(name, func(t *testing.T) {
			var written strings.Builder
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&written, nil)))
			defer slog.SetDefault(before)
			err := fmt.Errorf("get pods: %w", &discovery.UnavailableError{Host: address, Err: fmt.Errorf("Get %q: %w", address, test.err)})
			text := ConnectError(err).Error()
			if strings.Contains(text, "10.1.2.3") || strings.Contains(text, "internal") || !strings.Contains(text, test.words+"; try again") {
				t.Errorf("the caller gets %q", text)
			}
			if lines := strings.Count(written.String(), "\n"); lines != 1 || !strings.Contains(written.String(), address) {
				t.Errorf("the log has %d lines: %s", lines, written.String())
			}
		})
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// TestMeaningOf_NamesTLSErrors has the service use TLS with an API server that does not.
func TestMeaningOf_NamesTLSErrors(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err := http.Get("https" + strings.TrimPrefix(plain.URL, "http"))
	if got := meaningOf(err); got != "it does not speak TLS" {
		t.Errorf("%v means %q", err, got)
	}
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	_, err = http.Get(secret.URL)
	if got := meaningOf(err); got != "its certificate is not trusted" {
		t.Errorf("%v means %q", err, got)
	}
}
