package permissions_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestOperateDoc_CommandsWork runs the commands of docs/start/operate.md in one shell, as its reader
// does, up to those that need a Prometheus.
func TestOperateDoc_CommandsWork(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "jq", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of docs/start/operate.md need %s: %v", program, err)
		}
	}
	ctx := kit.Deadline(t)
	own, shop := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, shop, "web", 2)
	t.Cleanup(func() { revokeChecked(t, own) })
	shell := exec.CommandContext(ctx, "bash", "-eu", "-c", "trap 'kill $(jobs -p)' EXIT\n"+operateDoc(t, own, shop))
	shell.Dir, shell.Env = checkoutOf(t), append(os.Environ(), "no_proxy=*")
	printed, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	kit.WantWords(t, string(printed), "4 of 18 checks failed", "\n18 ok\n", `["`+shop+`"]`, "1 of the cluster's namespaces: "+shop,
		`"system:serviceaccount:`+shop+`:nobody" cannot list resource "pods"`, "\nsystem:serviceaccount:"+shop+":nobody\n",
		`"request_id": "find-me"`, `"logLevel":"debug"`, `"caller": "system:serviceaccount:`+shop+`:robot"`)
}

// revokeChecked deletes what the printed commands of kubeconnect check have created for the account of
// the page.
func revokeChecked(t *testing.T, namespace string) {
	t.Helper()
	ctx, rbac, name := context.Background(), kit.Cluster(t).Client.RbacV1(), "kubeconnect-check-"+namespace+"-kubeconnect"
	err := errors.Join(
		rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}),
		rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}),
		rbac.RoleBindings(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{}),
	)
	if err != nil {
		t.Error(err)
	}
}

// operateDoc returns the commands of the page, with namespaces and addresses of this test.
func operateDoc(t *testing.T, own, shop string) string {
	t.Helper()
	text, err := os.ReadFile(kit.CheckoutPath(t, "docs", "start", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, _, found := strings.Cut(string(text), "\n## Prometheus\n")
	if !found {
		t.Fatal("docs/start/operate.md has no section about Prometheus")
	}
	replace := strings.NewReplacer("kubectl create namespace kubeconnect\n", "", "-n kubeconnect ", "-n "+own+" ", "-n shop ", "-n "+shop+" ",
		"=shop:robot", "="+shop+":robot", "127.0.0.1:8081", harness.ReserveAddress(t), "127.0.0.1:9090", harness.ReserveAddress(t))
	var commands strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1) {
		commands.WriteString(replace.Replace(block[1]))
	}
	return commands.String()
}

// checkoutOf returns a folder with what `make run` leaves in the checkout.
func checkoutOf(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	service, err := harness.Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"bin/kubeconnect": service, ".run/cluster/kubeconfig": kit.Cluster(t).Kubeconfig} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
