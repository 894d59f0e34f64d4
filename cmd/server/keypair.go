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
)

// reloadInterval is how often the files of a certificate are read. They are small,
// and reading them tells every way in which they may be replaced: written over,
// renamed, or swapped by a symbolic link above them, as Kubernetes does.
const reloadInterval = 5 * time.Second

// keyPair is the server's certificate and private key, as two files have them now.
// A pair that cannot be used leaves the one before in its place. Connections that
// are open stay as they are.
type keyPair struct {
	// Set once.
	certFile, keyFile string

	current atomic.Pointer[tls.Certificate] // what new connections are shown

	// Owned by follow, once it runs.
	served   pemPair // what current was made of
	validity validity
	failures failures
}

// pemPair is the content of the two files.
type pemPair struct{ certificate, key string }

// loadKeyPair reads a pair for the first time. The caller must run follow.
func loadKeyPair(certFile, keyFile string) (*keyPair, error) {
	p := &keyPair{certFile: certFile, keyFile: keyFile}
	if err := p.load(); err != nil {
		return nil, err
	}
	p.tellValidity(time.Now())
	return p, nil
}

// follow keeps the pair as its files are, until the context ends.
func (p *keyPair) follow(ctx context.Context) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.look()
		case <-ctx.Done():
			return
		}
	}
}

func (p *keyPair) look() {
	if err := p.load(); p.failures.isNews(err) {
		slog.Error("the certificate stays the old one: the new one cannot be used", "error", err)
	}
	p.tellValidity(time.Now())
}

// load reads the files, and uses what is in them if it is new.
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

// tellValidity logs that the certificate is not valid, or will not be for long,
// once for each of these.
func (p *keyPair) tellValidity(now time.Time) {
	leaf := p.current.Load().Leaf
	validity := validityOf(leaf, now)
	if validity == p.validity {
		return
	}
	p.validity = validity
	switch validity {
	case notYet:
		slog.Error("the certificate is not valid yet: clients will refuse it", "file", p.certFile, "begins", leaf.NotBefore)
	case ending:
		slog.Warn("the certificate expires soon: renew it", "file", p.certFile, "expires", leaf.NotAfter)
	case expired:
		slog.Error("the certificate has expired: clients will refuse it; renew it", "file", p.certFile, "expires", leaf.NotAfter)
	}
}

// validity is where a certificate is in its life.
type validity int

const (
	valid validity = iota
	notYet
	ending // in the last tenth of its life: whoever renews it should have done so
	expired
)

func validityOf(certificate *x509.Certificate, now time.Time) validity {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	switch {
	case now.Before(certificate.NotBefore):
		return notYet
	case now.After(certificate.NotAfter):
		return expired
	case certificate.NotAfter.Sub(now) < life/10:
		return ending
	}
	return valid
}

// failures tells which of the failures in a row is worth a word: one that has
// been seen at two looks, for files are replaced one after the other, and that
// has not been told yet.
type failures struct {
	last string
	seen int
}

func (f *failures) isNews(err error) bool {
	switch {
	case err == nil:
		*f = failures{}
		return false
	case err.Error() != f.last:
		*f = failures{last: err.Error()}
	}
	f.seen++
	return f.seen == 2
}
