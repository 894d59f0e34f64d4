package deploy_test

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestFlowSchema_IsThereIfAskedFor(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", required()}.manifests(t)
	if len(ofKind[flowcontrolv1.FlowSchema](t, all, "FlowSchema")) > 0 || len(ofKind[flowcontrolv1.PriorityLevelConfiguration](t, all, "PriorityLevelConfiguration")) > 0 {
		t.Error("there is one by default")
	}
}

// TestFlowSchema_IsForTheAccountOfTheServiceAlone wants every request of the service to have the
// priority level, and no request of others.
func TestFlowSchema_IsForTheAccountOfTheServiceAlone(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]values{"own": {}, "given": {"create": false, "name": "other"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"r", "n", with(values{"serviceAccount": account, "flowSchema": values{"enabled": true}})}.manifests(t)
			schema, level := ofKind[flowcontrolv1.FlowSchema](t, all, "FlowSchema")[0], ofKind[flowcontrolv1.PriorityLevelConfiguration](t, all, "PriorityLevelConfiguration")[0]
			if schema.Spec.PriorityLevelConfiguration.Name != level.Name {
				t.Errorf("the schema leads to %s, the level is %s", schema.Spec.PriorityLevelConfiguration.Name, level.Name)
			}
			bound := ofKind[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding")[0].Subjects[0]
			rule := schema.Spec.Rules[0]
			if len(schema.Spec.Rules) != 1 || len(rule.Subjects) != 1 || rule.Subjects[0].ServiceAccount == nil ||
				rule.Subjects[0].ServiceAccount.Name != bound.Name || rule.Subjects[0].ServiceAccount.Namespace != bound.Namespace {
				t.Errorf("the rules are %+v, the account is %+v", schema.Spec.Rules, bound)
			}
			if precedence := schema.Spec.MatchingPrecedence; precedence >= 9000 {
				t.Errorf("that of all service accounts comes before it: %d", precedence)
			}
		})
	}
}
