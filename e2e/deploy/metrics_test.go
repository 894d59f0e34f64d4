package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// monitored returns values that enable everything about metrics.
func monitored(others values) values {
	metrics := values{"enabled": true, "port": 9191, "serviceMonitor": values{"enabled": true}}
	for name, value := range others {
		metrics[name] = value
	}
	return with(values{"metrics": metrics, "networkPolicy": values{"enabled": true, "from": []any{values{"namespaceSelector": values{}}}}})
}

func TestMetrics_CanBeDisabled(t *testing.T) {
	t.Parallel()
	files, err := release{"r", "n", with(values{"metrics": values{"enabled": false}})}.files()
	succeeds(t, err)
	for name, text := range files {
		if strings.Contains(text, "metrics") || strings.Contains(text, "ServiceMonitor") {
			t.Errorf("%s contains metrics:\n%s", name, text)
		}
	}
}

// serviceMonitor is the part of a ServiceMonitor that selects the metrics endpoint.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
			Scheme   string `json:"scheme"`
			Token    string `json:"bearerTokenFile"`
			TLS      struct {
				ServerName string `json:"serverName"`
				CA         struct {
					Secret corev1.SecretKeySelector `json:"secret"`
				} `json:"ca"`
			} `json:"tlsConfig"`
			Authorization struct {
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// TestServiceMonitor_LeadsToTheMetricsOfEachPod resolves the endpoint as Prometheus does.
func TestServiceMonitor_LeadsToTheMetricsOfEachPod(t *testing.T) {
	t.Parallel()
	all := release{"r", "kubeconnect", monitored(nil)}.manifests(t)
	monitor, deployment := ofKind[serviceMonitor](t, all, "ServiceMonitor")[0], ofKind[appsv1.Deployment](t, all, "Deployment")[0]
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	succeeds(t, err)
	var found []*corev1.Service
	for _, service := range ofKind[corev1.Service](t, all, "Service") {
		if selector.Matches(labels.Set(service.Labels)) {
			found = append(found, service)
		}
	}
	if len(found) != 1 || found[0].Spec.ClusterIP != corev1.ClusterIPNone {
		t.Fatalf("the monitor selects the Services %v, want one", found)
	}
	port, endpoint := found[0].Spec.Ports[0], monitor.Spec.Endpoints[0]
	if port.Name != endpoint.Port || endpoint.Path != "/metrics" || len(found[0].Spec.Ports) != 1 {
		t.Errorf("endpoint of the monitor %+v, ports of the Service %+v", endpoint, found[0].Spec.Ports)
	}
	pod := deployment.Spec.Template
	if !labels.SelectorFromSet(found[0].Spec.Selector).Matches(labels.Set(pod.Labels)) {
		t.Errorf("selector of the Service %v, labels of the pods %v", found[0].Spec.Selector, pod.Labels)
	}
	if number := containerPort(pod.Spec.Containers[0], port.TargetPort); number != 9191 {
		t.Errorf("target port of the Service %d", number)
	}
}

func containerPort(container corev1.Container, named intstr.IntOrString) int32 {
	for _, port := range container.Ports {
		if port.Name == named.StrVal {
			return port.ContainerPort
		}
	}
	return 0
}

// TestService_DoesNotExposeMetrics is about load balancers: the Service for callers must
// not expose the metrics, which have no authentication.
func TestService_DoesNotExposeMetrics(t *testing.T) {
	t.Parallel()
	all := release{"r", "kubeconnect", monitored(nil)}.manifests(t)
	for _, service := range ofKind[corev1.Service](t, all, "Service") {
		if ports := service.Spec.Ports; service.Name == "r-kubeconnect" && (len(ports) != 1 || ports[0].TargetPort.StrVal != "serve") {
			t.Errorf("ports of the Service %+v", ports)
		}
	}
}

func TestNetworkPolicy_AllowsNamedPeersToReadMetrics(t *testing.T) {
	t.Parallel()
	for name, from := range map[string][]any{
		"everyone": {},
		"some":     {values{"namespaceSelector": values{"matchLabels": values{"a": "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"r", "kubeconnect", monitored(values{"from": from})}.manifests(t)
			rules := ofKind[networkingv1.NetworkPolicy](t, all, "NetworkPolicy")[0].Spec.Ingress
			if len(rules) < 2 || rules[1].Ports[0].Port.StrVal != "metrics" || len(rules[1].From) != len(from) {
				t.Fatalf("rules %+v", rules)
			}
			if len(from) > 0 && rules[1].From[0].NamespaceSelector.MatchLabels["a"] != "b" {
				t.Errorf("allowed peers %+v", rules[1].From)
			}
		})
	}
}

// TestServiceMonitor_UnknownFieldsAreRejected checks that the CRD of these tests is strict.
func TestServiceMonitor_UnknownFieldsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	installCRDs(ctx, t, controlPlane)
	namespace := newNamespace(ctx, t, controlPlane, nil)
	for _, object := range (release{"r", namespace, monitored(nil)}).manifests(t) {
		if object.GetKind() != "ServiceMonitor" {
			continue
		}
		succeeds(t, newInstaller(t, controlPlane).create(ctx, object, metav1.DryRunAll))
		succeeds(t, unstructured.SetNestedField(object.Object, "x", "spec", "selector", "matchLabel"))
		if err := newInstaller(t, controlPlane).create(ctx, object, metav1.DryRunAll); err == nil || !strings.Contains(err.Error(), `unknown field "spec.selector.matchLabel"`) {
			t.Errorf("error %v, want an unknown field", err)
		}
	}
}

// TestAdmin_ReadsItsTokenFromTheSecret checks that the flag names a file of the mounted Secret.
func TestAdmin_ReadsItsTokenFromTheSecret(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", monitored(values{"adminTokenSecret": "admins"})}.manifests(t)
	pod := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec
	container := pod.Containers[0]
	if !slices.Contains(container.Args, "--admin-token-file=/etc/kubeconnect/admin/token") {
		t.Errorf("flags %q", container.Args)
	}
	mounted := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/kubeconnect/admin" })
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "admins" })
	if mounted < 0 || volume < 0 || container.VolumeMounts[mounted].Name != pod.Volumes[volume].Name {
		t.Errorf("mounts %v of volumes %v", container.VolumeMounts, pod.Volumes)
	}
}

// metricsLine is the line of the log with the address of the metrics.
var metricsLine = regexp.MustCompile(`msg=metrics address=(\S+)`)

// TestMetrics_AreServedAtTheConfiguredPort runs the command of a pod, with other ports.
func TestMetrics_AreServedAtTheConfiguredPort(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, controlPlane, nil)
	all := release{"r", namespace, monitored(nil)}.manifests(t)
	service := install(ctx, t, namespace, all)
	if !slices.Contains(service.container.Args, "--metrics-listen=:9191") {
		t.Fatalf("flags %q", service.container.Args)
	}
	line, err := service.UntilPrints(ctx, metricsLine.MatchString)
	succeeds(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(metricsLine.FindStringSubmatch(line)[1])
	succeeds(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), "\nkubeconnect_watch_delay_seconds_count 0\n") {
		t.Errorf("response %s, %v", text, err)
	}
}

// TestMetrics_AreForAllowedClients scrapes a service of the chart as Prometheus does, with the credential and the
// server name of the ServiceMonitor.
func TestMetrics_AreForAllowedClients(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, controlPlane, nil)
	all := release{"r", namespace, monitored(values{"auth": "cluster", "tls": true})}.manifests(t)
	endpoint := ofKind[serviceMonitor](t, all, "ServiceMonitor")[0].Spec.Endpoints[0]
	if endpoint.Scheme != "https" || endpoint.Token == "" || endpoint.TLS.ServerName != "r-kubeconnect."+namespace+".svc" {
		t.Errorf("the endpoint is %+v", endpoint)
	}
	service, reader := install(ctx, t, namespace, all), newCaller(ctx, t)
	line, err := service.UntilPrints(ctx, metricsLine.MatchString)
	succeeds(t, err)
	address := metricsLine.FindStringSubmatch(line)[1]
	scrape := func(header http.Header, certificates ...tls.Certificate) (int, string) {
		roots := x509.NewCertPool()
		roots.AddCert(service.certificate)
		config := &tls.Config{RootCAs: roots, Certificates: certificates}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: config}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		succeeds(t, err)
		request.Header = header
		answer, err := client.Do(request)
		succeeds(t, err)
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		succeeds(t, err)
		return answer.StatusCode, string(text)
	}
	bearer := http.Header{"Authorization": {"Bearer " + reader.config.BearerToken}}

	if status, text := scrape(nil); status != http.StatusUnauthorized || !strings.Contains(text, "Authorization") {
		t.Errorf("without a token: %d %s", status, text)
	}
	if status, text := scrape(bearer); status != http.StatusForbidden || !strings.Contains(text, reader.user()+" is not allowed to get the path /metrics") {
		t.Errorf("without the permission: %d %s", status, text)
	}
	bindMetricsReader(ctx, t, all, reader)
	succeeds(t, eventually(ctx, func() error {
		if status, text := scrape(bearer); status != http.StatusOK || !strings.Contains(text, "\nkubeconnect_watch_delay_seconds_count 0\n") {
			return fmt.Errorf("with the permission: %d %s", status, text)
		}
		return nil
	}))
	pair, err := tls.X509KeyPair(controlPlane.Config.CertData, controlPlane.Config.KeyData)
	succeeds(t, err)
	if status, text := scrape(nil, pair); status != http.StatusOK {
		t.Errorf("with the administrator's certificate: %d %s", status, text)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(address, "https://", "http://", 1), nil)
	succeeds(t, err)
	plain, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	succeeds(t, err)
	defer func() { _ = plain.Body.Close() }()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("in plain text: %s", plain.Status)
	}
}

// bindMetricsReader binds the role that the chart creates for readers of metrics.
func bindMetricsReader(ctx context.Context, t *testing.T, all []manifest, to account) {
	t.Helper()
	for _, role := range ofKind[rbacv1.ClusterRole](t, all, "ClusterRole") {
		if strings.HasSuffix(role.Name, "-metrics-reader") {
			_, err := cluster(t).Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: role.Name},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: to.namespace, Name: to.name}},
			}, metav1.CreateOptions{})
			succeeds(t, err)
			return
		}
	}
	t.Fatal("the chart creates no role for readers of metrics")
}

// TestServiceMonitor_TrustsTheAuthorityOfTheCertificate renders the TLS configuration of a ServiceMonitor.
func TestServiceMonitor_TrustsTheAuthorityOfTheCertificate(t *testing.T) {
	t.Parallel()
	managed := values{"mode": "certManager", "certManager": values{"issuerRef": values{"name": "ca"}}}
	for name, test := range map[string]struct {
		tls              values
		monitor          values
		secret, key      string
		serverName, with string
	}{
		"of cert-manager": {managed, nil, "kubeconnect-tls", "ca.crt", "r-kubeconnect.n.svc", ""},
		"of the system":   {values{"mode": "secret"}, nil, "", "", "r-kubeconnect.n.svc", ""},
		"another one": {
			values{"mode": "secret"}, values{
				"tlsConfig":     values{"serverName": "k.example.com", "ca": values{"secret": values{"name": "roots", "key": "r.crt"}}},
				"authorization": values{"credentials": values{"name": "scraper", "key": "token"}},
			}, "roots", "r.crt", "k.example.com", "scraper",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			monitor := chartutil.MergeTables(values{"enabled": true}, test.monitor)
			all := release{"r", "n", with(values{"tls": test.tls, "metrics": values{"tls": true, "auth": "cluster", "serviceMonitor": monitor}})}.manifests(t)
			endpoint := ofKind[serviceMonitor](t, all, "ServiceMonitor")[0].Spec.Endpoints[0]
			if endpoint.TLS.CA.Secret.Name != test.secret || endpoint.TLS.CA.Secret.Key != test.key || endpoint.TLS.ServerName != test.serverName ||
				endpoint.Authorization.Credentials.Name != test.with || (endpoint.Token == "") != (test.with != "") {
				t.Errorf("the endpoint is %+v", endpoint)
			}
		})
	}
}
