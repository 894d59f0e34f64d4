package deploy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestSecurityContext_IsRestrictedByDefault checks the fields that the restricted Pod Security
// Standard requires, and that the file system is read-only.
func TestSecurityContext_IsRestrictedByDefault(t *testing.T) {
	t.Parallel()
	pod := deploymentOfChart(t, nil).Spec.Template.Spec
	if of := pod.SecurityContext; of == nil || !*of.RunAsNonRoot || *of.RunAsUser == 0 || of.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security context of the pod %+v", of)
	}
	if of := pod.Containers[0].SecurityContext; of == nil || *of.AllowPrivilegeEscalation || !*of.ReadOnlyRootFilesystem || of.Capabilities.Drop[0] != "ALL" {
		t.Errorf("security context of the container %+v", of)
	}
}

// TestSecurityContext_LeavesTheUserToTheCluster is about OpenShift, which assigns user IDs.
func TestSecurityContext_LeavesTheUserToTheCluster(t *testing.T) {
	t.Parallel()
	of := deploymentOfChart(t, values{
		"podSecurityContext": values{"runAsUser": nil, "runAsGroup": nil, "fsGroup": 1},
		"securityContext":    values{"privileged": false},
	}).Spec.Template.Spec
	if pod := of.SecurityContext; pod.RunAsUser != nil || pod.RunAsGroup != nil || *pod.FSGroup != 1 || !*pod.RunAsNonRoot {
		t.Errorf("security context of the pod %+v", pod)
	}
	if container := of.Containers[0].SecurityContext; *container.Privileged || *container.AllowPrivilegeEscalation {
		t.Errorf("security context of the container %+v", container)
	}
}
