package permissions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// checked is the output of kubeconnect check.
type checked struct {
	OK     bool
	Checks []struct {
		Check, Outcome, Found, Consequence, Remedy, Grant string
	}
}

// inOutcome returns what was found by the checks with an outcome, by their names.
func (c checked) inOutcome(outcome string) map[string]string {
	found := map[string]string{}
	for _, one := range c.Checks {
		if one.Outcome == outcome {
			found[one.Check] = one.Found
		}
	}
	return found
}

// check runs kubeconnect check, and verifies that its exit code fits its output.
func check(ctx context.Context, t *testing.T, kubeconfig string, flags ...string) checked {
	t.Helper()
	process := harness.RunService(t, append([]string{"check", "--output", "json", "--kubeconfig", kubeconfig}, flags...)...)
	failure := process.Wait(ctx)
	var result checked
	if err := json.NewDecoder(strings.NewReader(process.Output())).Decode(&result); err != nil {
		t.Fatalf("%v: %s", err, process.Output())
	}
	if result.OK != (failure == nil) || result.OK != (len(result.inOutcome("failed")) == 0) {
		t.Errorf("ok is %t, and the exit is %v: %s", result.OK, failure, process.Output())
	}
	return result
}

// authoritiesRule permits reading the authorities of client certificates.
var authoritiesRule = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"extension-apiserver-authentication"}, Verbs: []string{"get"}}

// neededBy are the permissions of a service, each by the words in which it is missing, with the check
// that finds it and its outcome.
var neededBy = []struct {
	missing, check, outcome string
	rule                    rbacv1.PolicyRule
}{
	{"create tokenreviews.authentication.k8s.io", "authentication", "failed", resourceRule("authentication.k8s.io", "tokenreviews", "create")},
	{"create subjectaccessreviews.authorization.k8s.io", "authorization", "failed", resourceRule("authorization.k8s.io", "subjectaccessreviews", "create")},
	{"list clusterrolebindings.rbac.authorization.k8s.io", "RBAC", "warning", resourceRule(rbacv1.GroupName, "clusterrolebindings", "list")},
	{"watch clusterrolebindings.rbac.authorization.k8s.io", "RBAC", "warning", resourceRule(rbacv1.GroupName, "clusterrolebindings", "watch")},
	{"list, watch clusterroles.rbac.authorization.k8s.io", "RBAC", "warning", resourceRule(rbacv1.GroupName, "clusterroles", "list", "watch")},
	{"list, watch rolebindings.rbac.authorization.k8s.io", "RBAC", "warning", resourceRule(rbacv1.GroupName, "rolebindings", "list", "watch")},
	{"list, watch roles.rbac.authorization.k8s.io", "RBAC", "warning", resourceRule(rbacv1.GroupName, "roles", "list", "watch")},
	{"get configmaps extension-apiserver-authentication in kube-system", "client certificates", "warning", authoritiesRule},
	{"list serviceaccounts", "service accounts", "warning", kit.Rule("serviceaccounts", "list")},
	{"watch serviceaccounts", "service accounts", "warning", kit.Rule("serviceaccounts", "watch")},
	{"list, watch pods", "pods of tokens", "warning", kit.Rule("pods", "list", "watch")},
	{"list, watch customresourcedefinitions.apiextensions.k8s.io", "custom resources", "warning", resourceRule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch")},
	{"list, watch apiservices.apiregistration.k8s.io", "aggregated APIs", "warning", resourceRule("apiregistration.k8s.io", "apiservices", "list", "watch")},
	{"list deployments.apps", "--preload deployments", "failed", resourceRule("apps", "deployments", "list")},
	{"watch deployments.apps", "--preload deployments", "failed", resourceRule("apps", "deployments", "watch")},
	{"impersonate users", "impersonation", "warning", kit.Rule("users", "impersonate")},
	{"impersonate groups, serviceaccounts", "impersonation", "warning", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"groups", "serviceaccounts"}, Verbs: []string{"impersonate"}}},
	{"impersonate uids.authentication.k8s.io", "impersonation", "warning", resourceRule("authentication.k8s.io", "uids", "impersonate")},
}

// alwaysNeeded are further permissions, which are always granted here.
var alwaysNeeded = []rbacv1.PolicyRule{{
	APIGroups: []string{"authentication.k8s.io"}, Verbs: []string{"impersonate"}, Resources: []string{
		"userextras/authentication.kubernetes.io/credential-id", "userextras/authentication.kubernetes.io/node-name",
		"userextras/authentication.kubernetes.io/node-uid", "userextras/authentication.kubernetes.io/pod-name",
		"userextras/authentication.kubernetes.io/pod-uid",
	},
}}

// everyFeature selects the features that need all of these permissions.
var everyFeature = []string{"--auth", "cluster", "--write-as", "impersonate", "--preload", "deployments"}

func resourceRule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// Each permission is taken away in turn, and granted again by the command that the check prints.
func TestCheck_NamesEachMissingPermissionAndGrantsIt(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	for i, taken := range append(slices.Clone(neededBy), neededBy[0]) {
		t.Run(taken.missing, func(t *testing.T) {
			account := kit.NewAccount(ctx, t, namespace, "service-"+string(rune('a'+i)))
			rules := slices.Clone(alwaysNeeded)
			for j, needed := range neededBy {
				if j != i {
					rules = append(rules, needed.rule)
				}
			}
			kit.GrantEverywhere(t, account, rules...)
			kubeconfig := account.Kubeconfig()
			result := check(ctx, t, kubeconfig, everyFeature...)
			if i == len(neededBy) { // all permissions
				if bad := len(result.inOutcome("failed")) + len(result.inOutcome("warning")); bad > 0 {
					t.Errorf("with all permissions: %+v", result)
				}
				return
			}
			missing := result.inOutcome(taken.outcome)
			if len(missing) != 1 || missing[taken.check] != "not allowed to "+taken.missing {
				t.Fatalf("%s: %v, want only that %s is missing", taken.outcome, missing, taken.missing)
			}
			for _, one := range result.Checks {
				if one.Check == taken.check {
					follow(ctx, t, one.Grant)
				}
			}
			kit.Eventually(ctx, t, "the permission is granted", func() error {
				return noneBut(check(ctx, t, kubeconfig, everyFeature...), "ok")
			})
		})
	}
}

// noneBut returns an error if a check has another outcome.
func noneBut(result checked, outcome string) error {
	for _, one := range result.Checks {
		if one.Outcome != outcome {
			return fmt.Errorf("%s %s: %s", one.Outcome, one.Check, one.Found)
		}
	}
	return nil
}

// follow does what the printed command does: it creates the objects in it.
func follow(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	body, ok := strings.CutPrefix(command, "kubectl auth reconcile -f - <<'EOF'\n")
	if !ok || !strings.HasSuffix(body, "EOF\n") {
		t.Fatalf("another command: %s", command)
	}
	api := kit.Cluster(t).Client.RbacV1()
	for document := range strings.SplitSeq(strings.TrimSuffix(body, "EOF\n"), "---\n") {
		var kind metav1.TypeMeta
		decode(t, document, &kind)
		var err error
		switch kind.Kind {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			decode(t, document, &role)
			_, err = api.ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
			t.Cleanup(func() { _ = api.ClusterRoles().Delete(context.WithoutCancel(ctx), role.Name, metav1.DeleteOptions{}) })
		case "ClusterRoleBinding":
			var binding rbacv1.ClusterRoleBinding
			decode(t, document, &binding)
			_, err = api.ClusterRoleBindings().Create(ctx, &binding, metav1.CreateOptions{})
			t.Cleanup(func() {
				_ = api.ClusterRoleBindings().Delete(context.WithoutCancel(ctx), binding.Name, metav1.DeleteOptions{})
			})
		case "RoleBinding":
			var binding rbacv1.RoleBinding
			decode(t, document, &binding)
			_, err = api.RoleBindings(binding.Namespace).Create(ctx, &binding, metav1.CreateOptions{})
			t.Cleanup(func() {
				_ = api.RoleBindings(binding.Namespace).Delete(context.WithoutCancel(ctx), binding.Name, metav1.DeleteOptions{})
			})
		default:
			t.Fatalf("the kind %q: %s", kind.Kind, document)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, document)
		}
	}
}

func decode(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
}

// TestCheck_NamesTheNamespaces is about an account that may read in two namespaces: the check fails for nothing that is
// cached in these.
func TestCheck_NamesTheNamespaces(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	first, second := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	names := []string{first, second}
	slices.Sort(names)
	account := kit.NewAccount(ctx, t, first, "developer")
	for _, name := range names {
		account.GrantIn(name, "developer", kit.Rule("configmaps", "list", "watch"))
	}
	kubeconfig := account.Kubeconfig()
	in := "the namespaces " + strings.Join(names, ", ")
	for _, run := range []struct {
		flags []string
		check string
		found string
	}{
		{nil, "resources", "allowed to list and watch [0-9]+ of [0-9]+ resources, 1 of them in " + in + " only"},
		{[]string{"--preload", "configmaps"}, "--preload configmaps", "allowed to list, watch configmaps in " + in},
	} {
		flags := append([]string{"--auth", "none", "--namespaces", strings.Join(names, ",")}, run.flags...)
		kit.Eventually(ctx, t, run.found, func() error {
			if found := check(ctx, t, kubeconfig, flags...).inOutcome("ok")[run.check]; !regexp.MustCompile("^" + run.found + "$").MatchString(found) {
				return fmt.Errorf("found %q", found)
			}
			return nil
		})
	}
}

func TestCheck_NamesWhatIsWrongWithTheConnection(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	good := kit.Cluster(t).Kubeconfig
	expired := kit.NewCertificateUntil(t, time.Now().Add(-time.Minute))
	other := kit.NewCertificate(t)
	for name, test := range map[string]struct {
		kubeconfig string
		flags      []string
		check      string
		says       string
	}{
		"an unreachable server": {
			kubeconfig: changedKubeconfig(t, func(server *string, _ *[]byte) { *server = "https://127.0.0.1:1" }),
			check:      "connection", says: "nothing accepts connections at 127.0.0.1:1",
		},
		"another CA": {
			kubeconfig: changedKubeconfig(t, func(_ *string, authority *[]byte) { *authority = other.PEM(t) }),
			check:      "connection", says: "is not signed by the CA of the kubeconfig",
		},
		"a rejected token": {
			kubeconfig: kit.KubeconfigWithToken(t, "no-token"), check: "credential", says: "rejects the token",
		},
		"an expired certificate": {
			kubeconfig: good, flags: []string{"--tls-cert-file", expired.CertFile, "--tls-private-key-file", expired.KeyFile},
			check: "certificate", says: "has expired",
		},
		"a key of another certificate": {
			kubeconfig: good, flags: []string{"--tls-cert-file", expired.CertFile, "--tls-private-key-file", other.KeyFile},
			check: "certificate", says: "private key does not match public key",
		},
		"a wrong flag": {
			kubeconfig: good, flags: []string{"--caller-max-stream", "3"}, check: "configuration", says: "did you mean --caller-max-streams?",
		},
		"an invalid value": {
			kubeconfig: good, flags: []string{"--recheck-interval", "0s"}, check: "configuration", says: "--recheck-interval 0s: must be at least 1s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := check(ctx, t, test.kubeconfig, test.flags...).inOutcome("failed")
			if len(failed) != 1 || !strings.Contains(failed[test.check], test.says) {
				t.Errorf("failed: %v, want only %s with %q", failed, test.check, test.says)
			}
		})
	}
}

// changedKubeconfig writes the cluster's kubeconfig with another server or authority.
func changedKubeconfig(t *testing.T, change func(server *string, authority *[]byte)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kit.Cluster(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		change(&cluster.Server, &cluster.CertificateAuthorityData)
		if len(cluster.CertificateAuthorityData) > 0 {
			cluster.CertificateAuthority = ""
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// The text that a person reads has the same checks, and the command.
func TestCheck_PrintsText(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	account := kit.NewAccount(ctx, t, kit.NewNamespace(ctx, t, kit.Cluster(t)), "service")
	process := harness.RunService(t, "check", "--kubeconfig", account.Kubeconfig(), "--preload", "configmaps")
	if process.Wait(ctx) == nil {
		t.Error("an account without permissions passes")
	}
	for _, want := range []string{
		"\nok       credential ", "the service is " + account.User(),
		"\nfailed   authentication ", "not allowed to create tokenreviews.authentication.k8s.io\n",
		"No caller can be authenticated, and the service is not ready.\n",
		"As an administrator, grant what the failed checks need:\n\nkubectl auth reconcile -f - <<'EOF'\n",
		"kubeconnect: 3 of ",
	} {
		if !strings.Contains(process.Output(), want) {
			t.Errorf("without %q: %s", want, process.Output())
		}
	}
}
