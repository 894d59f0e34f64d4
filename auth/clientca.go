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
	// clientCANamespace and the others say where the API server publishes the
	// authorities that it trusts with users. To read it takes the role
	// extension-apiserver-authentication-reader.
	clientCANamespace = "kube-system"
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
	// clientCAInterval is how often the authorities are read anew, and
	// clientCARetry after that has failed.
	clientCAInterval = time.Minute
	clientCARetry    = 5 * time.Second
)

// clientCA are the authorities of the cluster's client certificates. Its methods are
// safe for concurrent use.
type clientCA struct {
	configMaps corev1client.ConfigMapInterface

	mu    sync.RWMutex   // guards the fields below
	read  bool           // whether they have been read once
	pool  *x509.CertPool // nil while the cluster has none
	bytes string         // what pool was made of
}

func newClientCA(core corev1client.ConfigMapsGetter) *clientCA {
	return &clientCA{configMaps: core.ConfigMaps(clientCANamespace)}
}

// run keeps the authorities until the context ends. While they cannot be read, the
// last ones stay.
func (c *clientCA) run(ctx context.Context) {
	for failed := false; ; {
		pause := clientCAInterval
		if err := c.reload(ctx); err != nil {
			pause = clientCARetry
			if !failed && ctx.Err() == nil {
				slog.WarnContext(ctx, "the authorities of client certificates cannot be read", "error", err)
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
			return errors.New(clientCAKey + " in ConfigMap " + clientCANamespace + "/" + clientCAConfigMap + " has no certificate in it")
		}
	}
	c.read, c.bytes, c.pool = true, bytes, pool
	return nil
}

// authorities are nil if the cluster has none; read is false while that is not known.
func (c *clientCA) authorities() (pool *x509.CertPool, read bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pool, c.read
}

// asking is a server's TLS configuration that asks its callers for a certificate of
// the cluster's authorities, as they are at the time. Whether it is good is found out
// by the calls.
func (c *clientCA) asking(base *tls.Config) *tls.Config {
	config := base.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, read := c.authorities()
		if read && pool == nil {
			return nil, nil // while it is not known, any may be the cluster's
		}
		asking := base.Clone()
		asking.ClientAuth, asking.ClientCAs = tls.RequestClientCert, pool
		return asking, nil
	}
	return config
}
