package deploy_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestPeers_AskEachOtherWhereMetricsAre checks the path from one pod to another: the name in the
// flag, the Service of that name, and the rules of the NetworkPolicy on both sides.
func TestPeers_AskEachOtherWhereMetricsAre(t *testing.T) {
	t.Parallel()
	from := values{"namespaceSelector": values{"matchLabels": values{"a": "b"}}}
	for name, peers := range map[string][]any{"for everyone": {}, "for some": {from}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"r", "n", monitored(values{"from": peers})}.manifests(t)
			pod := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template
			if args := pod.Spec.Containers[0].Args; !slices.Contains(args, "--peers=r-kubeconnect-metrics.n.svc:9191") {
				t.Fatalf("flags %q", args)
			}
			if service := serviceNamed(t, all, "r-kubeconnect-metrics"); service == nil || service.Spec.ClusterIP != corev1.ClusterIPNone {
				t.Errorf("Service %+v", service)
			}
			policy := ofKind[networkingv1.NetworkPolicy](t, all, "NetworkPolicy")[0]
			if !slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
				return leadsTo(t, rule.To, pod.Labels) && rule.Ports[0].Port.IntValue() == 9191
			}) {
				t.Errorf("egress does not allow connections between the pods: %+v", policy.Spec.Egress)
			}
			if !slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
				return (len(rule.From) == 0 || leadsTo(t, rule.From, pod.Labels)) && rule.Ports[0].Port.StrVal == "metrics"
			}) {
				t.Errorf("ingress does not allow connections between the pods: %+v", policy.Spec.Ingress)
			}
		})
	}
}

// leadsTo reports whether peers select pods of the same namespace with the given labels.
func leadsTo(t *testing.T, peers []networkingv1.NetworkPolicyPeer, podLabels map[string]string) bool {
	t.Helper()
	return slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.PodSelector == nil || peer.NamespaceSelector != nil {
			return false
		}
		selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
		succeeds(t, err)
		return selector.Matches(labels.Set(podLabels))
	})
}

// TestPeers_AreNotAskedWithoutMetrics checks that the flag is absent without metrics, because peers
// are queried at the metrics address.
func TestPeers_AreNotAskedWithoutMetrics(t *testing.T) {
	t.Parallel()
	for name, overrides := range map[string]values{"without metrics": {"metrics": values{"enabled": false}}, "without peers": variants["without peers"]} {
		for _, arg := range containerOfChart(t, overrides).Args {
			if strings.HasPrefix(arg, "--peers") {
				t.Errorf("%s: unexpected flag %s", name, arg)
			}
		}
	}
}
