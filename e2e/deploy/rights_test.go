package deploy_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// allRules are values that enable every rule of the chart. The re-check interval is so long that a
// stream observes a change only through the watch of RBAC.
var allRules = values{
	"serve": []any{
		values{"group": "", "resources": []any{"configmaps"}},
		values{"group": "apps", "resources": []any{"deployments"}},
		values{"group": gadgetGroup, "resources": []any{"gadgets"}},
	},
	"auth":   values{"recheckInterval": "1h"},
	"writes": values{"mode": "impersonate"},
}

// constrainedWrites allow to patch ConfigMaps as callers.
var constrainedWrites = values{
	"mode": "impersonate", "impersonation": "constrained",
	"allowed": []any{values{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"patch"}}},
}

func TestPermissions_OfTheChartSuffice(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	installed := install(ctx, t, namespace, release{"r", namespace, with(allRules)}.manifests(t))
	for name, need := range needs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			succeeds(t, need.try(deadline(t), t, installed))
		})
	}
}

func TestPermissions_OfTheChartAreAllNeeded(t *testing.T) {
	t.Parallel()
	controlPlane := cluster(t)
	for _, taken := range rightsOf(t, release{"r", "n", with(allRules)}.manifests(t)) {
		t.Run(taken.String(), func(t *testing.T) {
			t.Parallel()
			need, known := needs[taken.String()]
			if !known {
				t.Fatal("no purpose is given in needs")
			}
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, controlPlane, nil)
			all := release{"r", namespace, with(allRules)}.manifests(t)
			installed := install(ctx, t, namespace, without(t, all, taken))
			wantSaid(t, need.try(ctx, t, installed), cmp.Or(need.without, taken.refusal()))
		})
	}
}

// TestWriteMode_DecidesWhichCallersCanWrite checks the error of a caller that cannot write; it is
// empty for a caller that can.
func TestWriteMode_DecidesWhichCallersCanWrite(t *testing.T) {
	t.Parallel()
	controlPlane := cluster(t)
	for mode, want := range map[string]struct{ withToken, withCertificate string }{
		"impersonate": {"", ""},
		"token":       {"", "a client certificate cannot be passed on"},
		"off":         {"cannot impersonate", "cannot impersonate"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, controlPlane, nil)
			installed := install(ctx, t, namespace, release{"r", namespace, with(values{"writes": values{"mode": mode}})}.manifests(t))
			wantSaid(t, patchesByToken(ctx, t, installed), want.withToken)
			wantSaid(t, patchesByCertificate(ctx, t, installed), want.withCertificate)
		})
	}
}

// wantSaid fails the test unless an error contains a text, or is nil if the text is empty.
func wantSaid(t *testing.T, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want %q", err, says)
	}
}

// TestWriteMode_OnlyImpersonationNeedsPermissionToWrite checks the permissions of the service
// account beyond reading.
func TestWriteMode_OnlyImpersonationNeedsPermissionToWrite(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{"impersonate": true, "token": false, "off": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			rights := rightsOf(t, release{"r", "n", with(values{"writes": values{"mode": mode}})}.manifests(t))
			if got := slices.ContainsFunc(rights, func(r right) bool { return r.verb == "impersonate" }); got != want {
				t.Errorf("permission to impersonate: %v", got)
			}
			for _, right := range rights {
				reads := slices.Contains([]string{"get", "list", "watch", "impersonate"}, right.verb)
				asks := right.verb == "create" && strings.HasSuffix(right.resource, "reviews")
				if !reads && !asks || right.resource == "secrets" || right.resource == "*" {
					t.Errorf("permission to %s", right)
				}
			}
		})
	}
}

// TestCallerRole_OnlyCallersNeedGet checks the role that callers can be bound to: the service
// itself only lists and watches.
func TestCallerRole_OnlyCallersNeedGet(t *testing.T) {
	t.Parallel()
	all := release{"r", "n", with(values{"callerRoles": values{"reader": true}})}.manifests(t)
	for _, role := range ofKind[rbacv1.ClusterRole](t, all, "ClusterRole") {
		gets := slices.ContainsFunc(rightsIn(role), func(r right) bool { return r.verb == "get" })
		if gets != strings.HasSuffix(role.Name, "-reader") {
			t.Errorf("%s has permission to get: %v", role.Name, gets)
		}
	}
}
