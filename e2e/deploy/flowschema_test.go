package deploy_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestFlowSchema_CanBeDisabled(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", with(values{"flowSchema": values{"enabled": false}})}.manifests(t)
	if len(ofKind[flowcontrolv1.FlowSchema](t, all, "FlowSchema")) > 0 || len(ofKind[flowcontrolv1.PriorityLevelConfiguration](t, all, "PriorityLevelConfiguration")) > 0 {
		t.Error("the chart renders a FlowSchema that is disabled")
	}
}

// TestFlowSchema_IsForTheAccountOfTheServiceAlone checks that every request of the service has the
// priority level, and that no other request has it.
func TestFlowSchema_IsForTheAccountOfTheServiceAlone(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]values{"own": {}, "given": {"create": false, "name": "other"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"r", "n", with(values{"serviceAccount": account})}.manifests(t)
			schema, level := ofKind[flowcontrolv1.FlowSchema](t, all, "FlowSchema")[0], ofKind[flowcontrolv1.PriorityLevelConfiguration](t, all, "PriorityLevelConfiguration")[0]
			if schema.Spec.PriorityLevelConfiguration.Name != level.Name {
				t.Errorf("the schema refers to level %s, the level is %s", schema.Spec.PriorityLevelConfiguration.Name, level.Name)
			}
			bound := ofKind[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding")[0].Subjects[0]
			rule := schema.Spec.Rules[0]
			if len(schema.Spec.Rules) != 1 || len(rule.Subjects) != 1 || rule.Subjects[0].ServiceAccount == nil ||
				rule.Subjects[0].ServiceAccount.Name != bound.Name || rule.Subjects[0].ServiceAccount.Namespace != bound.Namespace {
				t.Errorf("rules %+v, account %+v", schema.Spec.Rules, bound)
			}
			if precedence := schema.Spec.MatchingPrecedence; precedence >= 9000 {
				t.Errorf("the FlowSchema of all service accounts precedes it: %d", precedence)
			}
		})
	}
}

// TestFlowSchema_DecidesTheLevelOfTheService sends a request as the service, and as another
// account. The response contains the priority level that admitted the request.
func TestFlowSchema_DecidesTheLevelOfTheService(t *testing.T) {
	t.Parallel()
	ctx, controlPlane := deadline(t), cluster(t)
	namespace := newNamespace(ctx, t, controlPlane, nil)
	for _, object := range (release{"r", namespace, required()}).manifests(t) {
		if slices.Contains([]string{"ServiceAccount", "FlowSchema", "PriorityLevelConfiguration"}, object.GetKind()) {
			succeeds(t, newInstaller(t, controlPlane).create(ctx, object))
		}
	}
	level, err := controlPlane.Client.FlowcontrolV1().PriorityLevelConfigurations().Get(ctx, namespace+"-r-kubeconnect", metav1.GetOptions{})
	succeeds(t, err)
	service := accountOf(ctx, t, namespace, "r-kubeconnect", nil)
	succeeds(t, eventually(ctx, func() error {
		if got := levelOf(t, service); got != string(level.UID) {
			return fmt.Errorf("the service has level %s, want %s", got, level.UID)
		}
		return nil
	}))
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	_, err = controlPlane.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, other, metav1.CreateOptions{})
	succeeds(t, err)
	if got := levelOf(t, accountOf(ctx, t, namespace, "other", nil)); got == "" || got == string(level.UID) {
		t.Errorf("another account has level %q", got)
	}
}

// levelOf returns the UID of the priority level of an account's requests.
func levelOf(t *testing.T, account account) string {
	t.Helper()
	client, err := rest.HTTPClientFor(account.config)
	succeeds(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, account.config.Host+"/api/v1/namespaces/default/pods?limit=1", nil)
	succeeds(t, err)
	answer, err := client.Do(request)
	succeeds(t, err)
	_ = answer.Body.Close()
	return answer.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
}
