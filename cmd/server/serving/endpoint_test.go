package serving

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
)

// tlsService is a service over TLS that also serves a stream.
type tlsService struct {
	address string
	edge    Endpoint
	lines   chan string // the lines to send on an open stream
}

// serveTLS serves until the test ends.
func serveTLS(t *testing.T, configureTLS func(*tls.Config) *tls.Config, files secret) tlsService {
	t.Helper()
	edge, err := Listen(Options{
		Address:                  "127.0.0.1:0",
		CertFile:                 files.certFile(),
		KeyFile:                  files.keyFile(),
		MaxConnections:           100,
		MaxConnectionsPerAddress: 100,
		ConfigureTLS:             configureTLS,
	})
	succeeds(t, err)
	s := tlsService{edge.Addr().String(), edge, make(chan string)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, edge, s, func() { close(s.lines) }) }()
	t.Cleanup(func() {
		stop()
		succeeds(t, <-done)
	})
	return s
}

// unchanged and requesting complete the TLS configuration: without client certificates, and with optional ones.
func unchanged(base *tls.Config) *tls.Config { return base }

func requesting(base *tls.Config) *tls.Config {
	base.ClientAuth = tls.RequestClientCert
	return base
}

// ServeHTTP returns the serial numbers of the client's certificates, and streams lines at /stream.
func (s tlsService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/stream" {
		for _, certificate := range r.TLS.PeerCertificates {
			_, _ = io.WriteString(w, certificate.SerialNumber.String())
		}
		return
	}
	_ = http.NewResponseController(w).Flush()
	for line := range s.lines {
		_, _ = io.WriteString(w, line+"\n")
		_ = http.NewResponseController(w).Flush()
	}
}

// dial opens a connection, and closes it at the end of the test.
func (s tlsService) dial(t *testing.T, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	config.InsecureSkipVerify = true
	conn, err := tls.Dial("tcp", s.address, config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, err
}

// shown returns the serial number of the certificate for a new connection.
func (s tlsService) shown(t *testing.T) int64 {
	t.Helper()
	conn, err := s.dial(t, &tls.Config{})
	succeeds(t, err)
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// callerOf returns a client that calls the service over HTTP/2, on a connection of its own.
func callerOf(t *testing.T, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (s tlsService) get(t *testing.T, caller *http.Client, path string) io.ReadCloser {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.address+path, nil)
	succeeds(t, err)
	answer, err := caller.Do(request)
	succeeds(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

func TestTLS_NewCertificateLeavesOpenStreamsConnected(t *testing.T) {
	servertest.CaptureLog(t)
	files := mountSecret(t, newPair(t, 1, today()))
	service := serveTLS(t, unchanged, files)
	stream := bufio.NewScanner(service.get(t, callerOf(t), "/stream"))
	for serial := range int64(4) {
		files.replace(t, newPair(t, serial, today()))
		service.edge.pair.reload()
		if shown := service.shown(t); shown != serial {
			t.Errorf("the certificate of a new connection is %d, want %d", shown, serial)
		}
		service.lines <- "still here"
		if !stream.Scan() || stream.Text() != "still here" {
			t.Fatalf("the open stream got %q, %v", stream.Text(), stream.Err())
		}
	}
}

func TestTLS_AcceptsVersions12And13OverHTTP2AndHTTP1(t *testing.T) {
	servertest.CaptureLog(t)
	service := serveTLS(t, unchanged, mountSecret(t, newPair(t, 1, today())))
	for version, spoken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			conn, err := service.dial(t, &tls.Config{MinVersion: version, MaxVersion: version, NextProtos: []string{protocol}})
			if (err == nil) != spoken {
				t.Errorf("%s: %v", tls.VersionName(version), err)
			}
			if err == nil && conn.ConnectionState().NegotiatedProtocol != protocol {
				t.Errorf("%s is not supported", protocol)
			}
		}
	}
}

func TestTLS_Version12RequiresAuthenticatedEncryption(t *testing.T) {
	servertest.CaptureLog(t)
	service := serveTLS(t, unchanged, mountSecret(t, newPair(t, 1, today())))
	for suite, spoken := range map[uint16]bool{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA:          false,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA:          false,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256:       true,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: true,
	} {
		_, err := service.dial(t, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		if (err == nil) != spoken {
			t.Errorf("%s: %v", tls.CipherSuiteName(suite), err)
		}
	}
}

func TestTLS_ClientCertificatesAreRequestedIfConfigured(t *testing.T) {
	servertest.CaptureLog(t)
	client := newPair(t, 7, today())
	certificate, err := tls.X509KeyPair([]byte(client.certificate), []byte(client.key))
	succeeds(t, err)
	for name, test := range map[string]struct {
		configureTLS func(*tls.Config) *tls.Config
		want         string
	}{"requested": {requesting, "7"}, "not requested": {unchanged, ""}} {
		t.Run(name, func(t *testing.T) {
			service := serveTLS(t, test.configureTLS, mountSecret(t, newPair(t, 1, today())))
			got, err := io.ReadAll(service.get(t, callerOf(t, certificate), "/"))
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
			got, err = io.ReadAll(service.get(t, callerOf(t), "/"))
			if err != nil || len(got) > 0 {
				t.Errorf("without a certificate, got %q, %v", got, err)
			}
		})
	}
}

func TestTLS_RejectsPlainText(t *testing.T) {
	servertest.CaptureLog(t)
	service := serveTLS(t, unchanged, mountSecret(t, newPair(t, 1, today())))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", service.address)
	succeeds(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	succeeds(t, err)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 400") {
		t.Errorf("got %q, %v", answer, err)
	}
}

// TestServe_ClientsWithoutACredentialDoNotFillTheLog sends handshakes whose error quotes the client.
func TestServe_ClientsWithoutACredentialDoNotFillTheLog(t *testing.T) {
	logged := servertest.CaptureLog(t)
	t.Run("TLS", func(t *testing.T) {
		s := serveTLS(t, unchanged, mountSecret(t, newPair(t, 1, today())))
		var protocols []string
		for i := range 100 {
			protocols = append(protocols, fmt.Sprintf("%0200d", i))
		}
		for range 30 {
			_, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}}).DialContext(t.Context(), "tcp", s.address) //nolint:gosec // the handshake fails before
			if err == nil {
				t.Fatal("the handshake succeeds")
			}
		}
	})
	if lines := logged.Count("TLS handshake error"); lines == 0 || lines > 10 {
		t.Errorf("%d lines", lines)
	}
	for line := range strings.Lines(logged.String()) {
		if len(line) > 1024 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}
