package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// endpoint is the listener for callers.
type endpoint struct {
	net.Listener
	bound *connections // what Listener accepts connections from
	pair  *keyPair     // nil for plain text
}

// listen opens the address in the settings, with TLS if they name a certificate; configureTLS completes
// the TLS configuration. Connections are counted in counts, if it is not nil. The caller must run follow.
func listen(s settings, configureTLS func(*tls.Config) *tls.Config, counts *connectionCounts) (endpoint, error) {
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return endpoint{}, fmt.Errorf("--listen %s: %w", s.listen, err)
	}
	bound := boundConnections(listener, openFiles().callersAtMost(s.maxConnections), s.maxConnectionsPerAddress, counts)
	if s.certFile == "" {
		return endpoint{Listener: bound, bound: bound}, nil
	}
	pair, err := loadKeyPair(s.certFile, s.keyFile)
	if err != nil {
		_ = listener.Close()
		return endpoint{}, err
	}
	return endpoint{tls.NewListener(bound, configureTLS(tlsConfig(pair))), bound, pair}, nil
}

func tlsConfig(pair *keyPair) *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.current.Load(), nil },
		NextProtos:     []string{"h2", "http/1.1"},
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

func (e endpoint) url() string {
	if e.pair == nil {
		return "http://" + e.Addr().String()
	}
	return "https://" + e.Addr().String()
}

// follow reloads the certificate when its files change, until the context is done.
func (e endpoint) follow(ctx context.Context) {
	if e.pair != nil {
		e.pair.follow(ctx)
	}
}
