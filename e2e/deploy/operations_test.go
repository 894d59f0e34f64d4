package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// documented returns the manifests in docs/planning.md.
func documented(t *testing.T) (all []manifest) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "docs/planning.md"), -1) {
		all = append(all, parse(t, block[1])...)
	}
	return all
}

func TestPlanningDoc_HasValidManifests(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	installCRDs(ctx, t, controlPlane)
	namespace, install := newNamespace(ctx, t, controlPlane, nil), newInstaller(t, controlPlane)
	kinds := map[string]bool{}
	for _, object := range documented(t) {
		kinds[object.GetKind()] = true
		object.SetNamespace(namespace)
		if err := install.create(ctx, object, metav1.DryRunAll); err != nil {
			t.Error(err)
		}
	}
	install.wantNone(t)
	for _, kind := range []string{"HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "GRPCRoute", "BackendTLSPolicy"} {
		if !kinds[kind] {
			t.Errorf("docs/planning.md has no %s", kind)
		}
	}
}

// TestPlanningDoc_NamesWhatTheChartInstalls compares the manifests of the page with its release:
// kubeconnect, in the namespace kubeconnect.
func TestPlanningDoc_NamesWhatTheChartInstalls(t *testing.T) {
	t.Parallel()
	installed := release{"kubeconnect", "kubeconnect", required()}.manifests(t)
	deployment, service := ofKind[appsv1.Deployment](t, installed, "Deployment")[0], serviceNamed(t, installed, "kubeconnect")
	for _, object := range documented(t) {
		if object.GetNamespace() != deployment.Namespace {
			t.Errorf("%s is in namespace %s", object.GetKind(), object.GetNamespace())
		}
		switch object.GetKind() {
		case "HorizontalPodAutoscaler":
			if target := into[autoscalingv2.HorizontalPodAutoscaler](t, object).Spec.ScaleTargetRef; target.Kind != "Deployment" || target.Name != deployment.Name {
				t.Errorf("target of the autoscaler %+v", target)
			}
		case "Ingress":
			backend := into[networkingv1.Ingress](t, object).Spec.Rules[0].HTTP.Paths[0].Backend.Service
			if backend.Name != service.Name || !hasPort(service, backend.Port.Name, backend.Port.Number) {
				t.Errorf("backend of the Ingress %+v", backend)
			}
		case "HTTPRoute", "GRPCRoute":
			backend := into[route](t, object).Spec.Rules[0].BackendRefs[0]
			if backend.Name != service.Name || !hasPort(service, "", backend.Port) {
				t.Errorf("backend of the %s %+v", object.GetKind(), backend)
			}
		}
	}
}

// route is the part of an HTTPRoute or a GRPCRoute that refers to a Service.
type route struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ParentRefs []map[string]string `json:"parentRefs"`
		Hostnames  []string            `json:"hostnames"`
		Rules      []struct {
			Timeouts    map[string]string `json:"timeouts"`
			BackendRefs []struct {
				Name string `json:"name"`
				Port int32  `json:"port"`
			} `json:"backendRefs"`
		} `json:"rules"`
	} `json:"spec"`
}

func hasPort(service *corev1.Service, name string, number int32) bool {
	port := service.Spec.Ports[0]
	return name == port.Name || number == port.Port
}

// TestDocs_NameValuesThatExist checks the chart values that pages for operators name.
func TestDocs_NameValuesThatExist(t *testing.T) {
	t.Parallel()
	chart, err := loadChart()
	succeeds(t, err)
	for page, names := range map[string]*regexp.Regexp{
		"docs/operations.md": regexp.MustCompile("`((?:service|balance|termination|metrics|resources)\\.[A-Za-z.]+)"),
		"docs/planning.md":   regexp.MustCompile("`((?:service|balance|flowSchema|connections|metrics|networkPolicy|resources)\\.[A-Za-z.]+)"),
		"docs/security.md":   regexp.MustCompile("`((?:auth|connections|limits|metrics|networkPolicy|resources|tls|writes)\\.[A-Za-z.]+)"),
		"docs/flags.md":      regexp.MustCompile("Chart:\\s`([A-Za-z.]+)`"),
	} {
		named := names.FindAllStringSubmatch(read(t, page), -1)
		if len(named) == 0 {
			t.Errorf("%s names no value", page)
		}
		for _, found := range named {
			if _, ok, _ := unstructured.NestedFieldNoCopy(chart.Values, strings.Split(found[1], ".")...); !ok {
				t.Errorf("%s names the value %s, which does not exist", page, found[1])
			}
		}
	}
}
