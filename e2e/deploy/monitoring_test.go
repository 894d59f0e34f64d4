package deploy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prometheusRule is the part of a PrometheusRule that has the expressions.
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Record      string            `json:"record"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// alerting returns values that enable the alerts and the dashboard.
func alerting() values {
	return monitored(values{
		"prometheusRule": values{"enabled": true, "labels": values{"team": "platform"}},
		"dashboard":      values{"enabled": true, "namespace": "grafana", "annotations": values{"grafana_folder": "Kubernetes"}},
	})
}

// TestPrometheusRule_SelectsThePodsOfTheRelease compares the expressions with the job and the
// namespace that a ServiceMonitor gives to the metrics: the name and the namespace of their Service.
func TestPrometheusRule_SelectsThePodsOfTheRelease(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubeconnect", "other"} {
		all := release{name, "place", alerting()}.manifests(t)
		rule := ofKind[prometheusRule](t, all, "PrometheusRule")[0]
		selector, alerts := `{namespace="place",job="`+metricsService(t, all).Name+`"`, 0
		for _, group := range rule.Spec.Groups {
			for _, rule := range group.Rules {
				if strings.Count(rule.Expr, `job="`) == 0 || strings.Count(rule.Expr, `job="`) != strings.Count(rule.Expr, selector) {
					t.Errorf("%s%s does not select only the release, with %s: %s", rule.Alert, rule.Record, selector, rule.Expr)
				}
				if rule.Alert != "" {
					alerts++
				}
			}
		}
		if alerts == 0 || rule.Labels["team"] != "platform" {
			t.Errorf("%d alerts, labels %v", alerts, rule.Labels)
		}
	}
}

func metricsService(t *testing.T, all []manifest) *corev1.Service {
	t.Helper()
	for _, service := range ofKind[corev1.Service](t, all, "Service") {
		if service.Labels["app.kubernetes.io/component"] == "metrics" {
			return service
		}
	}
	t.Fatal("there is no Service for metrics")
	return nil
}

// TestPrometheusRule_KeepsTheTemplatesOfPrometheus checks that Helm does not render them.
func TestPrometheusRule_KeepsTheTemplatesOfPrometheus(t *testing.T) {
	t.Parallel()
	rule := ofKind[prometheusRule](t, release{"r", "n", alerting()}.manifests(t), "PrometheusRule")[0]
	text, err := json.Marshal(rule.Spec)
	succeeds(t, err)
	if !strings.Contains(string(text), "{{ or $labels.pod $labels.instance }}") {
		t.Errorf("no description names a replica: %s", text)
	}
}

func TestDashboard_IsInAConfigMapForTheSidecar(t *testing.T) {
	t.Parallel()
	maps := ofKind[corev1.ConfigMap](t, release{"r", "n", alerting()}.manifests(t), "ConfigMap")
	maps = slices.DeleteFunc(maps, func(m *corev1.ConfigMap) bool { return m.Data["kubeconnect.json"] == "" })
	if len(maps) != 1 {
		t.Fatalf("%d ConfigMaps with a dashboard", len(maps))
	}
	var dashboard struct {
		Title  string           `json:"title"`
		Panels []map[string]any `json:"panels"`
	}
	succeeds(t, json.Unmarshal([]byte(maps[0].Data["kubeconnect.json"]), &dashboard))
	if dashboard.Title != "kubeconnect" || len(dashboard.Panels) == 0 {
		t.Errorf("dashboard %q with %d panels", dashboard.Title, len(dashboard.Panels))
	}
	if maps[0].Namespace != "grafana" || maps[0].Labels["grafana_dashboard"] != "1" || maps[0].Annotations["grafana_folder"] != "Kubernetes" {
		t.Errorf("metadata %+v", maps[0].ObjectMeta)
	}
}

// TestMonitoring_IsInstalledWhereTheOperatorIs renders the chart by default: without the API of the
// Prometheus operator its objects would fail the installation.
func TestMonitoring_IsInstalledWhereTheOperatorIs(t *testing.T) {
	t.Parallel()
	chart, err := loadChart()
	succeeds(t, err)
	const api = "monitoring.coreos.com/v1"
	for name, test := range map[string]struct {
		values    values
		installed bool // without the API
		auto      bool // with it
	}{
		"by default":      {nil, false, true},
		"without metrics": {values{"metrics": values{"enabled": false}}, false, false},
		"always":          {values{"metrics": values{"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}}}, true, true},
		"never":           {values{"metrics": values{"serviceMonitor": values{"enabled": false}, "prometheusRule": values{"enabled": false}}}, false, false},
	} {
		for _, hasAPI := range []bool{false, true} {
			capabilities := chartutil.DefaultCapabilities.Copy()
			if hasAPI {
				capabilities.APIVersions = append(capabilities.APIVersions, api)
			}
			rendered, err := chartutil.ToRenderValues(chart, with(test.values), chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, capabilities)
			succeeds(t, err)
			files, err := engine.Engine{Strict: true}.Render(chart, rendered)
			succeeds(t, err)
			for _, kind := range []string{"servicemonitor", "prometheusrule"} {
				want := test.installed && !hasAPI || test.auto && hasAPI
				if got := strings.Contains(files["kubeconnect/templates/"+kind+".yaml"], "apiVersion: "+api); got != want {
					t.Errorf("%s, with the API %v: %s is rendered: %v", name, hasAPI, kind, got)
				}
			}
		}
	}
}

// TestPrometheusRule_HasTheChangesOfAlerts compares changed rules with the rules of the file.
func TestPrometheusRule_HasTheChangesOfAlerts(t *testing.T) {
	t.Parallel()
	rules := func(overrides values) map[string]string {
		found := map[string]string{}
		for _, group := range ofKind[prometheusRule](t, release{"r", "n", with(overrides)}.manifests(t), "PrometheusRule")[0].Spec.Groups {
			for _, rule := range group.Rules {
				found[rule.Alert+rule.Record] = rule.Expr + " for " + rule.For + " " + rule.Labels["severity"] + " " + rule.Annotations["runbook_url"]
			}
		}
		return found
	}
	before := rules(values{"metrics": values{"prometheusRule": values{"enabled": true}}})
	after := rules(variants["with other alerts"])
	for name, rule := range before {
		want := strings.Replace(rule, "https://github.com/kubeconnect/kubeconnect/blob/main/docs/operations.md", "https://runbooks.example/kubeconnect", 1)
		switch name {
		case "KubeconnectRelists":
			want = ""
		case "KubeconnectMemoryLow":
			want = strings.NewReplacer("> 0.8 # threshold", "> 0.9 # threshold", " for 15m warning ", " for 30m info ").Replace(want)
			if want == rule {
				t.Errorf("the rule is %s", rule)
			}
		}
		if after[name] != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, after[name], want)
		}
	}
}
