package deploy_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestTheProcessorsSufficeForTurns is about the limit, which Go takes as the number of processors:
// long work uses slots on all processors except one.
func TestTheProcessorsSufficeForTurns(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", required()}.manifests(t)
	resources := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec.Containers[0].Resources
	limit, request := resources.Limits.Cpu(), resources.Requests.Cpu()
	if limit.MilliValue()%1000 != 0 || limit.Value() < 2 || request.IsZero() || request.Cmp(*limit) > 0 {
		t.Errorf("request %s, limit %s", request, limit)
	}
}
