package deploy_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// mighty are values with every rule that the chart has. What is served is not among
// what the service reads for itself.
var mighty = values{
	"resources": []any{
		values{"group": "", "resources": []any{"configmaps"}},
		values{"group": "apps", "resources": []any{"deployments"}},
	},
	"writes": values{"mode": "impersonate"},
}

// rightKinds are the kinds of manifests that make an account and its rights.
var rightKinds = []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// installRights installs the account and its rights, and returns when they hold.
func installRights(ctx context.Context, t *testing.T, namespace string, all []manifest, rights []right) account {
	t.Helper()
	in := cluster(t)
	install := newInstaller(t, in)
	for _, object := range all {
		if slices.Contains(rightKinds, object.GetKind()) {
			succeeds(t, install.create(ctx, object))
		}
	}
	who := accountOf(ctx, t, in, namespace, "r-kubeconnect")
	succeeds(t, who.untilHas(ctx, rights))
	return who
}

func allRights(t *testing.T, all []manifest) (rights []right) {
	t.Helper()
	for _, role := range ofKind[rbacv1.ClusterRole](t, all, "ClusterRole") {
		rights = append(rights, rightsIn(role)...)
	}
	return rights
}

func TestTheRightsOfTheChartAreEnough(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t), nil)
	all := release{"r", namespace, with(mighty)}.manifests(t)
	who := installRights(ctx, t, namespace, all, allRights(t, all))
	for right, need := range needs {
		t.Run(right.String(), func(t *testing.T) {
			t.Parallel()
			succeeds(t, need(deadline(t), t, right, who))
		})
	}
}

func TestEveryRightOfTheChartIsNeeded(t *testing.T) {
	t.Parallel()
	in := cluster(t)
	for _, taken := range allRights(t, release{"r", "n", with(mighty)}.manifests(t)) {
		t.Run(taken.String(), func(t *testing.T) {
			t.Parallel()
			need := needs[taken]
			if need == nil {
				t.Fatal("nobody says what it is for")
			}
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, in, nil)
			all := release{"r", namespace, with(mighty)}.manifests(t)
			left := without(t, all, taken)
			who := installRights(ctx, t, namespace, all, left)
			if err := need(ctx, t, taken, who); err == nil || !strings.Contains(err.Error(), "forbidden") {
				t.Errorf("without it: %v", err)
			}
		})
	}
}

func TestTheBindingInKubeSystemIsForTheClustersCA(t *testing.T) {
	t.Parallel()
	in := cluster(t)
	for name, bound := range map[string]bool{"with it": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			namespace := newNamespace(ctx, t, in, nil)
			all := release{"r", namespace, with(values{"resources": []any{values{"group": "", "resources": []any{"pods"}}}})}.manifests(t)
			all = slices.DeleteFunc(all, func(object manifest) bool { return object.GetKind() == "RoleBinding" && !bound })
			who := installRights(ctx, t, namespace, all, allRights(t, all))
			if !bound {
				if err := readsTheClustersCA(ctx, who); !apierrors.IsForbidden(err) {
					t.Errorf("reading it answers %v", err)
				}
				return
			}
			succeeds(t, eventually(ctx, func() error { return readsTheClustersCA(ctx, who) }))
		})
	}
}

// readsTheClustersCA reads whose client certificates count.
func readsTheClustersCA(ctx context.Context, who account) error {
	client, err := who.client(rest.ImpersonationConfig{})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("kube-system").Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	return err
}

// TestOnlyImpersonationNeedsRightsToWrite looks for what the service account may do
// beyond reading.
func TestOnlyImpersonationNeedsRightsToWrite(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{"impersonate": true, "token": false, "off": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			rights := allRights(t, release{"r", "n", with(values{"writes": values{"mode": mode}})}.manifests(t))
			if got := slices.ContainsFunc(rights, func(r right) bool { return r.verb == "impersonate" }); got != want {
				t.Errorf("may impersonate: %v", got)
			}
			for _, right := range rights {
				reads := slices.Contains([]string{"get", "list", "watch", "impersonate"}, right.verb)
				asks := right.verb == "create" && strings.HasSuffix(right.resource, "reviews")
				if !reads && !asks || right.resource == "secrets" || right.resource == "*" {
					t.Errorf("may %s", right)
				}
			}
		})
	}
}
