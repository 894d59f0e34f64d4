package deploy_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// policyOf returns the NetworkPolicy of a release with the given values.
func policyOf(t *testing.T, others values) networkingv1.NetworkPolicySpec {
	t.Helper()
	all := ofKind[networkingv1.NetworkPolicy](t, release{"r", "n", with(others)}.manifests(t), "NetworkPolicy")
	if len(all) != 1 {
		t.Fatalf("%d policies, want 1", len(all))
	}
	return all[0].Spec
}

// portsOf returns ports as PROTOCOL/PORT, where TCP is the default.
func portsOf(rule []networkingv1.NetworkPolicyPort) (ports []string) {
	for _, one := range rule {
		protocol := corev1.ProtocolTCP
		if one.Protocol != nil {
			protocol = *one.Protocol
		}
		ports = append(ports, fmt.Sprintf("%s/%s", protocol, one.Port))
	}
	return ports
}

// peersOf returns the CIDRs and the names of the namespaces that peers allow.
func peersOf(rule []networkingv1.NetworkPolicyPeer) (peers []string) {
	for _, one := range rule {
		if one.IPBlock != nil {
			peers = append(peers, one.IPBlock.CIDR)
		}
		if one.NamespaceSelector != nil {
			peers = append(peers, one.NamespaceSelector.MatchLabels[corev1.LabelMetadataName])
		}
	}
	return peers
}

func wantEqual(t *testing.T, description string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", description, got, want)
	}
}

func TestNetworkPolicy_AllowsCallersAPIServerAndDNSByDefault(t *testing.T) {
	t.Parallel()
	policy := policyOf(t, nil)
	if len(policy.Ingress) != 2 || len(policy.Egress) != 3 || len(policy.PolicyTypes) != 2 {
		t.Fatalf("policy %+v", policy)
	}
	callers, apiServer, names := policy.Ingress[0], policy.Egress[0], policy.Egress[2] // the second are metrics and peers
	wantEqual(t, "ports for callers", portsOf(callers.Ports), []string{"TCP/serve"})
	wantEqual(t, "allowed callers", peersOf(callers.From), nil)
	wantEqual(t, "ports of the API server", portsOf(apiServer.Ports), []string{"TCP/443", "TCP/6443", "TCP/8443", "TCP/16443"})
	wantEqual(t, "addresses of the API server", peersOf(apiServer.To), nil)
	wantEqual(t, "ports of DNS", portsOf(names.Ports), []string{"UDP/53", "TCP/53"})
	wantEqual(t, "addresses of DNS", peersOf(names.To), []string{"kube-system", "169.254.20.10/32", "169.254.169.254/32"})
}

func TestNetworkPolicy_AllowsOnlyNamedAddresses(t *testing.T) {
	t.Parallel()
	policy := policyOf(t, variants["with a strict policy"])
	wantEqual(t, "ports of the API server", portsOf(policy.Egress[0].Ports), []string{"TCP/443"})
	wantEqual(t, "addresses of the API server", peersOf(policy.Egress[0].To), []string{"10.96.0.1/32", "fd00::1/128"})
	wantEqual(t, "ports of DNS", portsOf(policy.Egress[2].Ports), []string{"UDP/5353", "TCP/5353"})
	wantEqual(t, "addresses of DNS", peersOf(policy.Egress[2].To), []string{"openshift-dns"})
	wantEqual(t, "ports of a collector", portsOf(policy.Egress[3].Ports), []string{"TCP/4317"})
}

func TestNetworkPolicy_CanBeDisabled(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", with(variants["without a policy"])}.manifests(t)
	if found := ofKind[networkingv1.NetworkPolicy](t, all, "NetworkPolicy"); len(found) > 0 {
		t.Errorf("the chart renders %+v", found[0])
	}
}

// TestNetworkPolicy_SelectsOnlyPodsOfItsRelease installs two releases in one namespace. The API
// server evaluates the selector of a policy, and the pods define its named ports.
func TestNetworkPolicy_SelectsOnlyPodsOfItsRelease(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, controlPlane, nil)
	withMetrics := with(values{"replicaCount": 1, "metrics": values{"enabled": true, "port": 9191}})
	for _, name := range []string{"one", "other"} {
		for _, object := range (release{name, namespace, withMetrics}).manifests(t) {
			succeeds(t, newInstaller(t, controlPlane).create(ctx, object))
		}
	}
	for _, name := range []string{"one-kubeconnect", "other-kubeconnect"} {
		policy, err := controlPlane.Client.NetworkingV1().NetworkPolicies(namespace).Get(ctx, name, metav1.GetOptions{})
		succeeds(t, err)
		pod := onlyPod(ctx, t, namespace, policy.Spec.PodSelector)
		if owner := deploymentOf(ctx, t, pod); owner != name {
			t.Errorf("policy %s selects a pod of %s", name, owner)
		}
		for i, want := range []int32{8443, 9191} {
			if got := containerPort(pod.Spec.Containers[0], *policy.Spec.Ingress[i].Ports[0].Port); got != want {
				t.Errorf("rule %d of %s has port %d, want %d", i, name, got, want)
			}
		}
	}
}

// onlyPod blocks until a selector selects a pod, and returns it.
func onlyPod(ctx context.Context, t *testing.T, namespace string, selector metav1.LabelSelector) corev1.Pod {
	t.Helper()
	var pods *corev1.PodList
	succeeds(t, eventually(ctx, func() (err error) {
		pods, err = cluster(t).Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector)})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("%d pods, want 1", len(pods.Items))
		}
		return err
	}))
	return pods.Items[0]
}

func deploymentOf(ctx context.Context, t *testing.T, pod corev1.Pod) string {
	t.Helper()
	replicaSet, err := cluster(t).Client.AppsV1().ReplicaSets(pod.Namespace).Get(ctx, metav1.GetControllerOf(&pod).Name, metav1.GetOptions{})
	succeeds(t, err)
	return metav1.GetControllerOf(replicaSet).Name
}

// TestNotes_ShowHowToFindTheAPIServer evaluates the expression in the notes as kubectl does, on a
// slice as written by an API server with three instances.
func TestNotes_ShowHowToFindTheAPIServer(t *testing.T) {
	t.Parallel()
	files, err := release{"r", "n", required()}.files()
	succeeds(t, err)
	expressions := regexp.MustCompile(`-o jsonpath='([^']+)'`).FindStringSubmatch(files[filepath.Join("kubeconnect", "templates", notes)])
	if expressions == nil {
		t.Fatal("the notes contain no jsonpath expression")
	}
	expression := jsonpath.New("notes")
	succeeds(t, expression.Parse(expressions[1]))
	port := int32(6443)
	slice := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: &port}}}
	for _, address := range []string{"10.0.0.4", "10.0.0.5", "10.0.0.6"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	asJSON, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{slice}})
	succeeds(t, err)
	var output strings.Builder
	succeeds(t, expression.Execute(&output, asJSON))
	if want := "10.0.0.4 10.0.0.5 10.0.0.6 port 6443\n"; output.String() != want {
		t.Errorf("output %q, want %q", output.String(), want)
	}
}
