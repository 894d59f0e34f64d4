package deploy_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func serviceNamed(t *testing.T, all []manifest, name string) *corev1.Service {
	t.Helper()
	for _, service := range ofKind[corev1.Service](t, all, "Service") {
		if service.Name == name {
			return service
		}
	}
	return nil
}

// TestHeadlessService_LeadsToThePortsOfThePods is for clients that balance by themselves: they get
// the addresses of the pods from DNS, and the port is not translated.
func TestHeadlessService_LeadsToThePortsOfThePods(t *testing.T) {
	t.Parallel()
	for name, overrides := range map[string]values{"over TLS": {"service": values{"port": 9443}}, "in plain text": {"tls": values{"mode": "off"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"r", "n", with(overrides)}.manifests(t)
			headless, template := serviceNamed(t, all, "r-kubeconnect-headless"), ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template
			if headless == nil || headless.Spec.ClusterIP != corev1.ClusterIPNone || headless.Spec.PublishNotReadyAddresses {
				t.Fatalf("headless Service %+v", headless)
			}
			if !labels.SelectorFromSet(headless.Spec.Selector).Matches(labels.Set(template.Labels)) {
				t.Errorf("selector %v, labels of the pods %v", headless.Spec.Selector, template.Labels)
			}
			if port := headless.Spec.Ports[0]; port.Port != containerPort(template.Spec.Containers[0], port.TargetPort) || len(headless.Spec.Ports) != 1 {
				t.Errorf("ports %+v, ports of the container %+v", headless.Spec.Ports, template.Spec.Containers[0].Ports)
			}
		})
	}
}

func TestHeadlessService_CanBeLeftOut(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", with(values{"service": values{"headless": false}})}.manifests(t)
	if serviceNamed(t, all, "r-kubeconnect-headless") != nil || serviceNamed(t, all, "r-kubeconnect") == nil {
		t.Error("the headless Service is rendered, or the other Service is missing")
	}
}

// TestHeadlessService_IsInTheCertificate checks that clients can verify its name.
func TestHeadlessService_IsInTheCertificate(t *testing.T) {
	t.Parallel()
	installed := release{"r", "n", with(variants["with cert-manager"])}
	for _, one := range installed.manifests(t) {
		if one.GetKind() != "Certificate" {
			continue
		}
		names := one.Object["spec"].(map[string]any)["dnsNames"].([]any)
		for _, want := range []any{"r-kubeconnect.n.svc", "r-kubeconnect-headless.n.svc", "r-kubeconnect-headless.n.svc.cluster.local", "state.example.com"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is missing in %v", want, names)
			}
		}
	}
}

func TestService_KeepsTheAddressesOfClients(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", with(values{"service": values{"type": "LoadBalancer", "externalTrafficPolicy": "Local"}})}.manifests(t)
	if policy := serviceNamed(t, all, "r-kubeconnect").Spec.ExternalTrafficPolicy; policy != corev1.ServiceExternalTrafficPolicyLocal {
		t.Errorf("externalTrafficPolicy %q", policy)
	}
}
