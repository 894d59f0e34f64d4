package deploy_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestResources_CPULimitIsAtLeastTwoProcessors is about the limit, which Go takes as the number of
// processors: long work uses slots on all processors except one.
func TestResources_CPULimitIsAtLeastTwoProcessors(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", required()}.manifests(t)
	resources := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec.Containers[0].Resources
	limit, request := resources.Limits.Cpu(), resources.Requests.Cpu()
	if limit.MilliValue()%1000 != 0 || limit.Value() < 2 || request.IsZero() || request.Cmp(*limit) > 0 {
		t.Errorf("request %s, limit %s", request, limit)
	}
}

// TestResources_AreThoseOfTheContainer checks that the value is passed on, as in every chart.
func TestResources_AreThoseOfTheContainer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resources values
		want      corev1.ResourceRequirements
		limited   bool
	}{
		"the default": {
			nil,
			corev1.ResourceRequirements{Requests: quantities("cpu", "500m", "memory", "1Gi"), Limits: quantities("cpu", "4", "memory", "2Gi")},
			true,
		},
		"another request and limit": {
			values{"requests": values{"cpu": 1, "ephemeral-storage": "1Gi"}, "limits": values{"memory": "6Gi", "cpu": nil}},
			corev1.ResourceRequirements{Requests: quantities("cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi"), Limits: quantities("memory", "6Gi")},
			true,
		},
		"no limits": {
			values{"limits": nil},
			corev1.ResourceRequirements{Requests: quantities("cpu", "500m", "memory", "1Gi")},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overrides := values{}
			if test.resources != nil {
				overrides["resources"] = test.resources
			}
			container := containerOfChart(t, overrides)
			if !equality.Semantic.DeepEqual(container.Resources, test.want) {
				t.Errorf("resources %v, want %v", container.Resources, test.want)
			}
			if limited := slices.Contains(variablesOf(container), "KUBECONNECT_MEMORY_LIMIT=1024M"); limited != test.limited {
				t.Errorf("variables %+v", container.Env)
			}
		})
	}
}

// quantities returns a list of names that alternate with quantities.
func quantities(namesAndQuantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range slices.Chunk(namesAndQuantities, 2) {
		list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return list
}
