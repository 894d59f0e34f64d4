package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// clientCANamespace, clientCAConfigMap and clientCAKey are the location at which the API server
	// publishes the authorities of client certificates. Reading it requires the role
	// extension-apiserver-authentication-reader.
	clientCANamespace = "kube-system"
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
	// clientCAInterval is how often the authorities are read, and clientCARetry the delay after an
	// error.
	clientCAInterval = time.Minute
	clientCARetry    = 5 * time.Second
)

// clientCA reads and keeps the authorities of the cluster's client certificates. Its methods are
// safe for concurrent use.
type clientCA struct {
	configMaps corev1client.ConfigMapInterface

	mu    sync.RWMutex   // guards the fields below
	read  bool           // whether they have been read at least once
	pool  *x509.CertPool // nil if the cluster has none
	bytes string         // the PEM data that pool was parsed from
}

func newClientCA(core corev1client.ConfigMapsGetter) *clientCA {
	return &clientCA{configMaps: core.ConfigMaps(clientCANamespace)}
}

// run reads the authorities until the context is done. While they cannot be read, the last ones
// remain in use.
func (c *clientCA) run(ctx context.Context) {
	for failed := false; ; {
		pause := clientCAInterval
		if err := c.reload(ctx); err != nil {
			pause = clientCARetry
			if !failed && ctx.Err() == nil {
				slog.WarnContext(ctx, "cannot read the authorities of client certificates", "error", err)
			}
			failed = true
		} else {
			failed = false
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (c *clientCA) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	published, err := c.configMaps.Get(ctx, clientCAConfigMap, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return c.set(published.Data[clientCAKey])
}

func (c *clientCA) set(bytes string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read && c.bytes == bytes {
		return nil
	}
	var pool *x509.CertPool
	if bytes != "" {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(bytes)) {
			return errors.New(clientCAKey + " in ConfigMap " + clientCANamespace + "/" + clientCAConfigMap +
				" contains no certificate")
		}
	}
	c.read, c.bytes, c.pool = true, bytes, pool
	return nil
}

// authorities returns the authorities, or nil if the cluster has none. read is false if they have
// not been read yet.
func (c *clientCA) authorities() (pool *x509.CertPool, read bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pool, c.read
}

// requestCertificates returns a copy of base that requests a client certificate of the cluster's current
// authorities from each client. It does not verify the certificate: calls do.
func (c *clientCA) requestCertificates(base *tls.Config) *tls.Config {
	config := base.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, read := c.authorities()
		if read && pool == nil {
			return nil, nil // while the authorities are not known, every certificate is requested
		}
		config := base.Clone()
		config.ClientAuth, config.ClientCAs = tls.RequestClientCert, pool
		return config, nil
	}
	return config
}
