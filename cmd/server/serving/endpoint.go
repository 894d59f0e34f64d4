package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// Endpoint is the listener for callers.
type Endpoint struct {
	net.Listener
	bound *Connections // what Listener accepts connections from
	pair  *keyPair     // nil for plain text
	// secure returns the TLS configuration for some protocols; nil for plain text.
	secure func(protocols ...string) *tls.Config
}

// Options say where callers connect.
type Options struct {
	Address                  string // host:port
	CertFile, KeyFile        string // empty for plain text
	MaxConnections           int    // at most as many as the limit of open files allows
	MaxConnectionsPerAddress int
	ConfigureTLS             func(*tls.Config) *tls.Config // completes the TLS configuration
	Counts                   *Counts                       // nil if connections are not counted
}

// Listen opens an endpoint. The caller must run follow.
func Listen(o Options) (Endpoint, error) {
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return Endpoint{}, fmt.Errorf("--listen %s: %w", o.Address, err)
	}
	bound := Bound(listener, OpenFiles().callersAtMost(o.MaxConnections), o.MaxConnectionsPerAddress, o.Counts)
	if o.CertFile == "" {
		return Endpoint{Listener: bound, bound: bound}, nil
	}
	pair, err := loadKeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		_ = listener.Close()
		return Endpoint{}, err
	}
	secure := func(protocols ...string) *tls.Config { return o.ConfigureTLS(tlsConfig(pair, protocols)) }
	return Endpoint{tls.NewListener(bound, secure("h2", "http/1.1")), bound, pair, secure}, nil
}

// Secure returns a listener that serves the connections of another one by HTTP/1.1 over TLS, with the
// certificate of the endpoint, which must have one.
func (e Endpoint) Secure(listener net.Listener) net.Listener {
	return tls.NewListener(listener, e.secure("http/1.1"))
}

// SetLimits changes the limits of connections. Open connections stay open.
func (e Endpoint) SetLimits(maxConnections, maxConnectionsPerAddress int) {
	e.bound.setLimits(OpenFiles().callersAtMost(maxConnections), maxConnectionsPerAddress)
}

func tlsConfig(pair *keyPair, protocols []string) *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.current.Load(), nil },
		NextProtos:     protocols,
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   cipherSuites,
	}
}

// cipherSuites are the cipher suites of TLS 1.2 with authenticated encryption (AEAD) and forward
// secrecy. All those of TLS 1.3 have both.
var cipherSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// URL returns where callers connect.
func (e Endpoint) URL() string {
	if e.pair == nil {
		return "http://" + e.Addr().String()
	}
	return "https://" + e.Addr().String()
}

// Follow reloads the certificate when its files change, until the context is done.
func (e Endpoint) Follow(ctx context.Context) {
	if e.pair != nil {
		e.pair.follow(ctx)
	}
}
