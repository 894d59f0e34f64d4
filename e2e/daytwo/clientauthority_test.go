package daytwo_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// readers is the group of the users in certificates.
const readers = "readers"

// The cluster accepts the client certificates of a second authority, and later no longer. Users of the
// first authority notice nothing.
func TestClientAuthority_IsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	controlPlane := startCluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	letReadersView(ctx, t, controlPlane, namespace)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	one := write.Create("one", nil)
	served := kit.NewCertificate(t)
	service := harness.StartService(t, controlPlane.Kubeconfig, "--auth", "cluster", "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	second := kit.NewAuthority(t, "second-ca")
	ofFirst := callingByCertificate(t, service, served, kit.ClusterAuthority(t, controlPlane))
	ofSecond := callingByCertificate(t, service, served, second)
	list := kit.ErrorOf(ofSecond.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
	kit.Eventually(ctx, t, "users of the first authority are accepted", func() error {
		return kit.ErrorOf(ofFirst.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})(ctx)
	})
	stays := record.Watch(t, ofFirst, kit.InNamespace("configmaps", namespace))
	stays.Reaches(ctx, one.ResourceVersion)
	kit.WantError(t, list(ctx), connect.CodeUnauthenticated)

	file := controlPlane.PKI("ca.crt")
	only, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, slices.Concat(only, second.PEM(t)))
	kit.Eventually(ctx, t, "users of the second authority are accepted", func() error { return list(ctx) })
	ends := record.Watch(t, ofSecond, kit.InNamespace("configmaps", namespace))
	touched := write.Touch("one", "with two authorities")
	ends.Reaches(ctx, touched.ResourceVersion)
	stays.Reaches(ctx, touched.ResourceVersion)

	writeFile(t, file, only)
	republishAuthorities(ctx, t, controlPlane)
	kit.WantError(t, ends.End(ctx), connect.CodeUnauthenticated)
	kit.WantError(t, list(ctx), connect.CodeUnauthenticated)
	touched = write.Touch("one", "with one authority")
	if view := stays.Reaches(ctx, touched.ResourceVersion); view.Model.Resets != 1 {
		t.Errorf("the stream of a user of the first authority had %d snapshots, want only the first", view.Model.Resets)
	}
}

// republishAuthorities deletes the authorities that the API server has published. It adds authorities to
// them by itself, removes none, and publishes its current ones when they are missing.
func republishAuthorities(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) {
	t.Helper()
	configMaps := controlPlane.Client.CoreV1().ConfigMaps("kube-system")
	kit.Eventually(ctx, t, "the API server has published one authority", func() error {
		const name = "extension-apiserver-authentication"
		published, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if authorities := strings.Count(published.Data["client-ca-file"], "BEGIN CERTIFICATE"); authorities != 1 {
			return errors.Join(fmt.Errorf("%d are published", authorities), configMaps.Delete(ctx, name, metav1.DeleteOptions{}))
		}
		return nil
	})
}

// letReadersView grants the group of the users permission to read a namespace.
func letReadersView(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) {
	t.Helper()
	if _, err := controlPlane.Client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: readers},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: readers}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// callingByCertificate returns a client of a service that presents a certificate of an authority.
func callingByCertificate(t *testing.T, service *harness.Service, served kit.Certificate, authority kit.Authority) kit.ResourceClient {
	t.Helper()
	certificate, key := authority.Sign(t, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "jane", Organization: []string{readers}},
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	httpClient := harness.HTTP2OverTLS(t, served.Parsed)
	httpClient.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &pair, nil
	}
	return harness.Dial(httpClient, service.Address, harness.GRPC).Resources
}
