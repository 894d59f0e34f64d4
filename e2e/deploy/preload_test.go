package deploy_test

import (
	"slices"
	"strings"
	"testing"
)

func TestPreload_IsWhatIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		overrides values
		want      []string
	}{
		"named resources": {
			values{"serve": []any{
				values{"group": "", "resources": []any{"pods", "nodes"}}, values{"group": "apps", "resources": []any{"deployments"}},
			}},
			[]string{"pods", "nodes", "deployments.apps"},
		},
		"not the resources of *": {
			values{"serve": []any{
				values{"group": "*", "resources": []any{"*"}}, values{"group": "apps", "resources": []any{"*"}}, values{"group": "coordination.k8s.io", "resources": []any{"leases"}},
			}},
			[]string{"leases.coordination.k8s.io"},
		},
		"not the uncached resources": {
			values{"uncached": []any{"secrets"}, "serve": []any{values{"group": "", "resources": []any{"pods", "secrets"}}}},
			[]string{"pods"},
		},
		"nothing if disabled": {values{"preload": false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var preloaded []string
			for _, arg := range containerOfChart(t, test.overrides).Args {
				if resource, ok := strings.CutPrefix(arg, "--preload="); ok {
					preloaded = append(preloaded, resource)
				}
			}
			if !slices.Equal(preloaded, test.want) {
				t.Errorf("preloaded resources: %v", preloaded)
			}
		})
	}
}

func TestRollout_LeavesClientsTimeToReconnect(t *testing.T) {
	t.Parallel()
	if deployment := deploymentOfChart(t, nil); deployment.Spec.MinReadySeconds < 5 {
		t.Errorf("minReadySeconds %d", deployment.Spec.MinReadySeconds)
	}
}
