package permissions_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// authority signs client certificates.
type authority struct{ kit.Authority }

// clusterAuthority returns the authority whose users the cluster accepts.
func clusterAuthority(t *testing.T) authority {
	t.Helper()
	return authority{kit.ClusterAuthority(t, kit.Cluster(t))}
}

// foreignAuthority returns another authority with the same name as the cluster's.
func foreignAuthority(t *testing.T) authority {
	t.Helper()
	return authority{kit.NewAuthority(t, clusterAuthority(t).Certificate.Subject.CommonName)}
}

// clientCertificate is the client certificate of a user.
type clientCertificate struct {
	cert, key []byte // as PEM
}

// certify creates a certificate of a user and its groups, which expires at a given time, which may
// be in the past.
func (a authority) certify(t *testing.T, user pkix.Name, expires time.Time) clientCertificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		Subject:     user,
		NotBefore:   expires.Add(-24 * time.Hour),
		NotAfter:    expires,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a authority) sign(t *testing.T, template *x509.Certificate) clientCertificate {
	t.Helper()
	certificate, key := a.Sign(t, template)
	return clientCertificate{certificate, key}
}

// calling returns clients that present the certificate, whatever the service requests.
func (c clientCertificate) calling(t *testing.T, service *tlsService, protocol harness.Protocol) harness.Clients {
	t.Helper()
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		t.Fatal(err)
	}
	httpClient := harness.HTTP2OverTLS(t, service.certificate.Parsed)
	httpClient.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &pair, nil
	}
	return harness.Dial(httpClient, service.Address, protocol)
}

// directly returns a client of the API server that presents the certificate.
func (c clientCertificate) directly(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
	config.CertData, config.KeyData = c.cert, c.key
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// tlsService is a service that authenticates callers with the cluster, over TLS.
type tlsService struct {
	*harness.Service
	certificate kit.Certificate
}

func startForCallersOverTLS(t *testing.T, flags ...string) *tlsService {
	t.Helper()
	served := kit.NewCertificate(t)
	flags = append([]string{"--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile}, flags...)
	return &tlsService{kit.StartForCallers(t, flags...), served}
}
