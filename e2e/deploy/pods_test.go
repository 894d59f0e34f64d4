package deploy_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestPods_AreAdmittedUnderRestrictedPodSecurity installs all manifests.
func TestPods_AreAdmittedUnderRestrictedPodSecurity(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, controlPlane, strict)
	install := newInstaller(t, controlPlane)
	for _, object := range (release{"r", namespace, with(nil)}).manifests(t) {
		succeeds(t, install.create(ctx, object))
	}
	install.wantNone(t)
	succeeds(t, eventually(ctx, func() error {
		deployment, err := controlPlane.Client.AppsV1().Deployments(namespace).Get(ctx, "r-kubeconnect", metav1.GetOptions{})
		if err == nil && deployment.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("status of the Deployment: %+v", deployment.Status)
		}
		return err
	}))
}

// TestPods_FlagsAreAcceptedAndProbesSucceed runs the command of a pod as the service
// account.
func TestPods_FlagsAreAcceptedAndProbesSucceed(t *testing.T) {
	t.Parallel()
	controlPlane := cluster(t)
	for name, variant := range map[string]values{
		"over TLS":      {},
		"in plain text": {"tls": values{"mode": "off"}},
		"with all values": {
			"corsOrigins": []any{"https://a.example", "http://b.example:1"}, "cacheIdleTimeout": "1h30m", "keepManagedFields": true, "tokenGeneration": "restored: 2026-11-22", "uncached": []any{"secrets", "ingresses.networking.k8s.io"}, "cacheAggregated": []any{"metrics.example.com"},
			"auth":   values{"audiences": []any{"https://one.example", "two"}, "recheckInterval": "1m30s"},
			"limits": values{"streams": 3_000_000, "requestRate": 0, "requestBurst": 7, "calls": 9}, "connections": values{"max": 100, "maxPerAddress": 50},
			"oidc":     values{"issuerURL": "https://issuer.example/a", "clientID": "console: 1", "scopes": []any{"openid", "groups"}, "endpointOrigins": []any{"https://tokens.example"}},
			"auditLog": "-", "auditPolicy": values{"omitStages": []any{"ResponseStarted"}, "rules": []any{values{"level": "Metadata", "resources": []any{values{"group": "", "resources": []any{"secrets"}}}}}},
			"compress": "gzip", "logLevel": "debug", "extraArgs": []any{"--log-level=warn", "--log-level=info"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, controlPlane, nil)
			installed := install(ctx, t, namespace, release{"r", namespace, with(variant)}.manifests(t))
			for _, probe := range []*corev1.Probe{installed.container.StartupProbe, installed.container.LivenessProbe, installed.container.ReadinessProbe} {
				succeeds(t, eventually(ctx, func() error { return askProbe(probe, installed.Service) }))
			}
		})
	}
}

// askProbe sends a probe as the kubelet does, which accepts any certificate.
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
		return fmt.Errorf("%s returned %s", url, answer.Status)
	}
	return nil
}
