package serving

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

	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
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
	validity Validity
	failures logging.Failures
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

// Follow reloads the pair when its files change, until the context is done.
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
	if err := p.load(); p.failures.ShouldLog(err) {
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

// ReadCertificate returns the certificate in the files of a pair.
func ReadCertificate(certFile, keyFile string) (*x509.Certificate, error) {
	files, err := readPEMPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(files.certificate), []byte(files.key))
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
	}
	return pair.Leaf, nil
}

// logValidity logs if the certificate is not valid, or expires soon, once for each state.
func (p *keyPair) logValidity(now time.Time) {
	leaf := p.current.Load().Leaf
	validity := ValidityOf(leaf, now)
	if validity == p.validity {
		return
	}
	p.validity = validity
	switch validity {
	case NotYetValid:
		slog.Error("the certificate is not valid yet: clients will reject it",
			"file", p.certFile, "begins", leaf.NotBefore)
	case Expiring:
		slog.Warn("the certificate expires soon: renew it", "file", p.certFile, "expires", leaf.NotAfter)
	case Expired:
		slog.Error("the certificate has expired: clients will reject it; renew it",
			"file", p.certFile, "expires", leaf.NotAfter)
	}
}

// CertificateExpiry is the metric that says when the certificate for callers expires.
type CertificateExpiry struct {
	served atomic.Pointer[keyPair] // nil for plain text, and before Follow
}

// Follow makes the metric that of the certificate of an endpoint.
func (c *CertificateExpiry) Follow(e Endpoint) { c.served.Store(e.pair) }

// Leaf returns the certificate; nil for plain text, and before Follow.
func (c *CertificateExpiry) Leaf() *x509.Certificate {
	if pair := c.served.Load(); pair != nil {
		return pair.current.Load().Leaf
	}
	return nil
}

// Metric returns the metric.
func (c *CertificateExpiry) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_certificate_expiry_timestamp_seconds",
		Help: "When the certificate of --tls-cert-file expires, in Unix time; 0 without TLS.",
	}, func() float64 {
		if leaf := c.Leaf(); leaf != nil {
			return float64(leaf.NotAfter.Unix())
		}
		return 0
	})
}

// Validity is the phase of a certificate's lifetime.
type Validity int

const (
	valid Validity = iota
	NotYetValid
	Expiring // the last tenth of the lifetime: it should have been renewed
	Expired
)

// ValidityOf returns the phase of a certificate at a time.
func ValidityOf(certificate *x509.Certificate, now time.Time) Validity {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	switch {
	case now.Before(certificate.NotBefore):
		return NotYetValid
	case now.After(certificate.NotAfter):
		return Expired
	case certificate.NotAfter.Sub(now) < life/10:
		return Expiring
	}
	return valid
}
