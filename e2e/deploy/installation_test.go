package deploy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/transport"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// installation is a release of which one service runs: with the flags of its pods, and exactly the
// permissions of its service account.
type installation struct {
	*harness.Service
	container   corev1.Container
	certificate *x509.Certificate // the service's certificate
}

// rightKinds are the kinds of the manifests that define an account and its permissions.
var rightKinds = []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// install creates the manifests of a release that the service needs, and starts the service when
// its permissions are effective.
func install(ctx context.Context, t *testing.T, namespace string, all []manifest) installation {
	t.Helper()
	install := newInstaller(t, cluster(t))
	for _, object := range all {
		if slices.Contains(rightKinds, object.GetKind()) {
			succeeds(t, install.create(ctx, object))
		}
	}
	account := accountOf(ctx, t, namespace, "r-kubeconnect", nil)
	succeeds(t, account.untilHas(ctx, rightsOf(t, all)))
	container, mounted := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec.Containers[0], t.TempDir()
	certificate := writeCertificate(t, mounted)
	writeConfig(t, mounted, all)
	service := harness.StartServiceWith(t, variablesOf(container), account.kubeconfig(t), flagsOf(container.Args, mounted)...)
	return installation{service, container, certificate}
}

// flagsOf returns the arguments of a container, with other paths and ports than in its pod.
func flagsOf(args []string, mounted string) []string {
	flags := strings.Join(args, "\n")
	flags = strings.NewReplacer("/etc/kubeconnect/tls", mounted, "/etc/kubeconnect/config", mounted).Replace(flags)
	flags = regexp.MustCompile("listen=.*").ReplaceAllString(flags, "listen=127.0.0.1:0")
	return strings.Split(flags, "\n")
}

// variablesOf returns the environment variables of a container, as the kubelet expands them for a limit of
// 1 GiB.
func variablesOf(container corev1.Container) (variables []string) {
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			variables = append(variables, variable.Name+"="+strings.ReplaceAll(variable.Value, "$(MEMORY_LIMIT_MI)", "1024"))
		}
	}
	return variables
}

// writeConfig writes the files of the ConfigMap that is mounted.
func writeConfig(t *testing.T, dir string, all []manifest) {
	t.Helper()
	for _, configMap := range ofKind[corev1.ConfigMap](t, all, "ConfigMap") {
		if _, ok := configMap.Data["config.yaml"]; !ok {
			continue
		}
		for file, content := range configMap.Data {
			succeeds(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
		}
	}
}

func writeCertificate(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	succeeds(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	succeeds(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	succeeds(t, err)
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: signed}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		succeeds(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	parsed, err := x509.ParseCertificate(signed)
	succeeds(t, err)
	return parsed
}

// byToken returns clients that authenticate with the token of an account.
func (i installation) byToken(t *testing.T, account account) harness.Clients {
	httpClient := harness.HTTP2OverTLS(t, i.certificate)
	httpClient.Transport = transport.NewBearerAuthRoundTripper(account.config.BearerToken, httpClient.Transport)
	return harness.Dial(httpClient, i.Address, harness.GRPC)
}

// byCertificate returns clients that authenticate with the administrator's client certificate.
func (i installation) byCertificate(ctx context.Context, t *testing.T) harness.Clients {
	t.Helper()
	pair, err := tls.X509KeyPair(cluster(t).Config.CertData, cluster(t).Config.KeyData)
	succeeds(t, err)
	return i.withCertificate(ctx, t, pair)
}

// withCertificate returns clients that authenticate with a client certificate. It blocks until the service
// has read the client authorities, or lacks the permission.
func (i installation) withCertificate(ctx context.Context, t *testing.T, pair tls.Certificate) harness.Clients {
	t.Helper()
	httpClient := harness.HTTP2OverTLS(t, i.certificate)
	httpClient.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	clients := harness.Dial(httpClient, i.Address, harness.GRPC)
	succeeds(t, eventually(ctx, func() error {
		_, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
		if connect.CodeOf(err) == connect.CodeUnavailable && i.refused() == nil {
			return err
		}
		return nil
	}))
	return clients
}

// refused returns an error for requests of the service that the API server has forbidden, according
// to its log.
func (i installation) refused() error {
	for line := range strings.Lines(i.Output()) {
		if strings.Contains(line, "is forbidden") {
			return errors.New(strings.ReplaceAll(line, `\"`, `"`))
		}
	}
	return nil
}
