package e2e_test

import (
	"crypto/tls"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestACallerIsKnownByItsClientCertificate calls with the administrator's own.
func TestACallerIsKnownByItsClientCertificate(t *testing.T) {
	t.Parallel()
	ctx, served := deadline(t), newCertificate(t)
	service := startForCallers(t, "--tls-cert-file", served.certFile, "--tls-private-key-file", served.keyFile)
	own, err := rest.TLSConfigFor(cluster(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := own.GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range harness.Protocols {
		httpClient := harness.HTTP2OverTLS(t, served.parsed)
		httpClient.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*pair}
		clients := harness.Dial(httpClient, service.Address, protocol)
		eventually(ctx, t, "the service knows whose certificates count", func() error {
			_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "nodes"})
			return err
		})
		who, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		if err != nil || who.GetUsername() == "" {
			t.Errorf("over %s the caller is %v, %v", protocol.Name, who, err)
		}
	}
}
