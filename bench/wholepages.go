package main

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// wholePages serves browser/whole.html, and the API server to it at the same origin, as the server of a
// dashboard does. It serves TLS with the API server's own certificate.
type wholePages struct {
	address string
	server  *http.Server
}

// startWholePages starts the server. The caller must call close.
func (l *lab) startWholePages() (*wholePages, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: l.cluster.address})
	proxy.Transport = &http.Transport{TLSClientConfig: l.cluster.tls.Clone(), ForceAttemptHTTP2: true}
	proxy.FlushInterval = -1
	mux := http.NewServeMux()
	mux.Handle("/api/", proxy)
	mux.Handle("/", http.FileServer(http.Dir("bench/browser")))
	certificate, err := tls.LoadX509KeyPair(l.cluster.file("pki", "server.crt"), l.cluster.file("pki", "server.key"))
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p := &wholePages{
		address: listener.Addr().String(),
		server: &http.Server{
			Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
			ErrorLog: log.New(io.Discard, "", 0), // of browsers that try whether the certificate is trusted
		},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

func (p *wholePages) close() { _ = p.server.Close() }
