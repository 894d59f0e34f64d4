package daytwo_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// The API server's certificate is renewed, first by the authority that signed the old one, and then by
// another one that the service trusts too. The connections of the service are cut each time, as when
// the API server is restarted.
func TestAPIServerCertificate_RenewalIsNotNoticed(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := startCluster(t)
	next := kit.NewAuthority(t, "next-ca")
	bundle := filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, bundle, append(kit.ClusterAuthority(t, controlPlane).PEM(t), next.PEM(t)...))
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	service := harness.StartService(t, kubeconfigWith(t, controlPlane, func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server = "https://" + link.Address()
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, bundle
	}))
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, controlPlane), kit.NewSeed(t), kit.WatchClients(t, service)...)
	group.AtWork(ctx, kit.BusyWrites)
	for _, authority := range []kit.Authority{kit.ClusterAuthority(t, controlPlane), next} {
		serveCertificateOf(ctx, t, controlPlane, authority)
		link.Cut()
		group.AtWork(ctx, kit.BusyWrites)
	}
	group.CatchUp(validate.AfterResume)
	t.Log(group.Finish(ctx, validate.Evidence{}))
}

// The authority of the API server's certificate is replaced while the service runs, without a time in
// which both are trusted. client-go reads the file of the authorities every five minutes.
func TestAPIServerCertificate_NewAuthorityIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	kit.SoakOnly(t)
	ctx := kit.DeadlineAfter(t, 10*time.Minute)
	controlPlane := startCluster(t)
	bundle := filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, bundle, kit.ClusterAuthority(t, controlPlane).PEM(t))
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	service := harness.StartService(t, kubeconfigWith(t, controlPlane, func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server = "https://" + link.Address()
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, bundle
	}))
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	one := write.Create("one", nil)
	stream := record.Watch(t, harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources, kit.InNamespace("configmaps", namespace))
	stream.Reaches(ctx, one.ResourceVersion)

	next := kit.NewAuthority(t, "next-ca")
	serveCertificateOf(ctx, t, controlPlane, next)
	link.Cut()
	stream.Until(ctx, "the stream reports that it is stale", func(view *record.View) bool { return view.Freshness.GetStale() })
	writeFile(t, bundle, next.PEM(t))
	touched := write.Touch("one", "touched")
	stream.Reaches(ctx, touched.ResourceVersion)
	stream.Until(ctx, "the stream is current", func(view *record.View) bool { return !view.Freshness.GetStale() })
}

// startCluster starts a control plane that a test disturbs. It ends with the test.
func startCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	controlPlane, err := harness.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, controlPlane.Stop)
	return controlPlane
}

// kubeconfigWith writes a copy of a control plane's kubeconfig that change has changed.
func kubeconfigWith(t *testing.T, controlPlane *harness.Cluster, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(controlPlane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	change(config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo])
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveCertificateOf gives the API server another certificate, and blocks until it presents it.
func serveCertificateOf(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, authority kit.Authority) {
	t.Helper()
	host, _, err := net.SplitHostPort(controlPlane.Address())
	if err != nil {
		t.Fatal(err)
	}
	certificate, key := authority.Sign(t, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(host)},
	})
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, controlPlane.PKI("server.key"), key)
	writeFile(t, controlPlane.PKI("server.crt"), certificate)
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate)
	kit.Eventually(ctx, t, "the API server presents its new certificate", func() error {
		connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(ctx, "tcp", controlPlane.Address())
		if err != nil {
			return err
		}
		defer connection.Close()
		if got := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(pair.Leaf) {
			return fmt.Errorf("it presents the certificate %s", got.SerialNumber)
		}
		return nil
	})
}

// writeFile replaces a file atomically, as Kubernetes does.
func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
