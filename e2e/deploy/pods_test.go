package deploy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestThePodsAreAdmittedWhereTheStrictestStandardHolds installs all of it.
func TestThePodsAreAdmittedWhereTheStrictestStandardHolds(t *testing.T) {
	t.Parallel()
	ctx, in := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, in, strict)
	install := newInstaller(t, in)
	for _, object := range (release{"r", namespace, with(nil)}).manifests(t) {
		succeeds(t, install.create(ctx, object))
	}
	install.wantNone(t)
	succeeds(t, eventually(ctx, func() error {
		deployment, err := in.Client.AppsV1().Deployments(namespace).Get(ctx, "r-kubeconnect", metav1.GetOptions{})
		if err == nil && deployment.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("the deployment is %+v", deployment.Status)
		}
		return err
	}))
}

// TestTheServiceUnderstandsItsFlagsAndAnswersItsProbes runs what a pod would run, as
// the service account.
func TestTheServiceUnderstandsItsFlagsAndAnswersItsProbes(t *testing.T) {
	t.Parallel()
	in := cluster(t)
	for name, variant := range map[string]values{
		"over TLS":      {},
		"in plain text": {"tls": values{"mode": "off"}},
		"with all that can be set": {
			"corsOrigins": []any{"https://a.example", "http://b.example:1"}, "cacheIdleTimeout": "1h30m", "keepManagedFields": true,
			"auth":     values{"audiences": []any{"https://one.example", "two"}, "recheckInterval": "1m30s"},
			"limits":   values{"streams": 3_000_000, "requestRate": 0, "requestBurst": 7},
			"logLevel": "debug", "extraArgs": []any{"--log-level=warn", "--log-level=info"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, in, nil)
			all := release{"r", namespace, with(variant)}.manifests(t)
			who := installRights(ctx, t, namespace, all, allRights(t, all))
			container := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec.Containers[0]
			service := harness.StartService(t, who.kubeconfig, flagsOf(t, container)...)
			for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
				succeeds(t, eventually(ctx, func() error { return askProbe(probe, service) }))
			}
		})
	}
}

// flagsOf are those of a container, but for where it finds things in its pod.
func flagsOf(t *testing.T, container corev1.Container) []string {
	t.Helper()
	flags, mounted := strings.Join(container.Args, "\n"), t.TempDir()
	writeCertificate(t, mounted)
	flags = strings.NewReplacer("/etc/kubeconnect/tls", mounted, "$(MEMORY_LIMIT_MI)", "1024").Replace(flags)
	flags = regexp.MustCompile("--listen=.*").ReplaceAllString(flags, "--listen=127.0.0.1:0")
	return strings.Split(flags, "\n")
}

func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	succeeds(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	succeeds(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	succeeds(t, err)
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: signed}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		succeeds(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}

// askProbe asks as the kubelet does, which believes any certificate.
func askProbe(probe *corev1.Probe, service *harness.Service) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	_, address, _ := strings.Cut(service.Address, "://")
	url := strings.ToLower(string(probe.HTTPGet.Scheme)) + "://" + address + probe.HTTPGet.Path
	answer, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
