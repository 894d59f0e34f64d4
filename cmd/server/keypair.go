package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reloadInterval is how often the files of a certificate are read. They are small, and reading them
// detects every kind of replacement: overwritten, renamed, or exchanged by a symbolic link of a
// parent folder, as Kubernetes does.
const reloadInterval = 5 * time.Second

// keyPair is the server's current certificate and private key from two files. If a new pair cannot
// be used, the previous pair stays in use. Open connections are not affected.
type keyPair struct {
	// Set once.
	certFile, keyFile string

	current atomic.Pointer[tls.Certificate] // the certificate for new connections

	// Owned by follow, once it runs.
	served   pemPair // what current was parsed from
	validity validity
	failures failureLog
}

// pemPair contains the contents of the two files.
type pemPair struct{ certificate, key string }

// loadKeyPair reads a pair for the first time. The caller must run follow.
func loadKeyPair(certFile, keyFile string) (*keyPair, error) {
	p := &keyPair{certFile: certFile, keyFile: keyFile}
	if err := p.load(); err != nil {
		return nil, err
	}
	p.logValidity(time.Now())
	return p, nil
}

// follow reloads the pair when its files change, until the context is done.
func (p *keyPair) follow(ctx context.Context) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.reload()
		case <-ctx.Done():
			return
		}
	}
}

func (p *keyPair) reload() {
	if err := p.load(); p.failures.shouldLog(err) {
		slog.Error("cannot use the new certificate: the old one stays in use", "error", err)
	}
	p.logValidity(time.Now())
}

// load reads the files, and uses their contents if they have changed.
func (p *keyPair) load() error {
	read, err := readPEMPair(p.certFile, p.keyFile)
	if err != nil || read == p.served {
		return err
	}
	pair, err := tls.X509KeyPair([]byte(read.certificate), []byte(read.key))
	if err != nil {
		return fmt.Errorf("--tls-cert-file %s with --tls-private-key-file %s: %w", p.certFile, p.keyFile, err)
	}
	p.served, p.validity = read, valid
	p.current.Store(&pair)
	slog.Info("certificate", "file", p.certFile, "serial", pair.Leaf.SerialNumber, "expires", pair.Leaf.NotAfter)
	return nil
}

func readPEMPair(certFile, keyFile string) (pemPair, error) {
	certificate, err := os.ReadFile(certFile)
	if err != nil {
		return pemPair{}, fmt.Errorf("--tls-cert-file: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return pemPair{}, fmt.Errorf("--tls-private-key-file: %w", err)
	}
	return pemPair{string(certificate), string(key)}, nil
}

// logValidity logs if the certificate is not valid, or expires soon, once for each state.
func (p *keyPair) logValidity(now time.Time) {
	leaf := p.current.Load().Leaf
	validity := validityOf(leaf, now)
	if validity == p.validity {
		return
	}
	p.validity = validity
	switch validity {
	case notYetValid:
		slog.Error("the certificate is not valid yet: clients will reject it",
			"file", p.certFile, "begins", leaf.NotBefore)
	case expiring:
		slog.Warn("the certificate expires soon: renew it", "file", p.certFile, "expires", leaf.NotAfter)
	case expired:
		slog.Error("the certificate has expired: clients will reject it; renew it",
			"file", p.certFile, "expires", leaf.NotAfter)
	}
}

// certificateExpiry is when the certificate for callers expires.
type certificateExpiry struct {
	served atomic.Pointer[keyPair] // nil for plain text, and until the address is opened
}

func (c *certificateExpiry) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_certificate_expiry_timestamp_seconds",
		Help: "When the certificate of --tls-cert-file expires, in Unix time; 0 without TLS.",
	}, func() float64 {
		if pair := c.served.Load(); pair != nil {
			return float64(pair.current.Load().Leaf.NotAfter.Unix())
		}
		return 0
	})
}

// validity is the phase of a certificate's lifetime.
type validity int

const (
	valid validity = iota
	notYetValid
	expiring // the last tenth of the lifetime: it should have been renewed
	expired
)

func validityOf(certificate *x509.Certificate, now time.Time) validity {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	switch {
	case now.Before(certificate.NotBefore):
		return notYetValid
	case now.After(certificate.NotAfter):
		return expired
	case certificate.NotAfter.Sub(now) < life/10:
		return expiring
	}
	return valid
}

// failureLog decides which repeated errors are logged: an error that occurred twice in a row, because
// files are replaced one after the other, and that has not been logged yet.
type failureLog struct {
	last string
	seen int
}

func (f *failureLog) shouldLog(err error) bool {
	switch {
	case err == nil:
		*f = failureLog{}
		return false
	case err.Error() != f.last:
		*f = failureLog{last: err.Error()}
	}
	f.seen++
	return f.seen == 2
}
