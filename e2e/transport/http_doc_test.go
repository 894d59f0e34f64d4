package transport_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// httpDoc returns the commands of docs/http.md, for a service and a namespace instead of those of
// the demo cluster: those for an interactive shell, and the script.
func httpDoc(t *testing.T, service *harness.Service, token, namespace string) (commands, script string) {
	t.Helper()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of docs/http.md need %s: %v", program, err)
		}
	}
	path, err := harness.Path("docs", "http.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaced := strings.NewReplacer("http://127.0.0.1:8080", service.Address, "TOKEN=any ", "TOKEN="+token+" ",
		`"shop"`, strconv.Quote(namespace), "sleep 5", "sleep 0.2").Replace(string(text))
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(replaced, -1) {
		if strings.HasPrefix(block[1], "#!") {
			script = block[1]
		} else {
			commands += block[1] + "\n"
		}
	}
	if script == "" || strings.Count(commands, "curl") < 4 || strings.Count(commands, "\nask ") < 9 {
		t.Fatalf("the commands of docs/http.md are not found: %s", commands)
	}
	return commands, script
}

func TestHTTPDoc_CommandsWork(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 2)
	robot := kit.NewAccount(ctx, t, namespace, "robot")
	deployments := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list"}}
	kit.GrantEverywhere(t, robot, kit.Rule("pods", "get", "list"), deployments)
	for name, caller := range map[string]struct {
		service *harness.Service
		token   string
	}{
		"without authentication": {harness.StartService(t, kit.Cluster(t).Kubeconfig), "any"},
		"with a token":           {kit.StartForCallers(t), robot.Token()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands, _ := httpDoc(t, caller.service, caller.token, namespace)
			shell := exec.CommandContext(kit.Deadline(t), "bash", "-euo", "pipefail", "-c", commands)
			shell.Dir, shell.Env = t.TempDir(), append(os.Environ(), "no_proxy=*")
			printed := output(t, shell)
			kit.WantWords(t, printed, `"totalCount"`, `"objects"`, `"deployments"`, `"columns"`, `"shortNames"`, `"schema"`, `"username"`, `"allowed"`,
				fmt.Sprintf("%s/web-", namespace), "\n2\n", "\n304\n", `cluster_pods{namespace="`+namespace+`",phase="Pending"} 2`)
		})
	}
}

func TestHTTPDoc_ScriptPrintsEveryChange(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateDeployment(ctx, t, namespace, "web", 0)
	_, script := httpDoc(t, harness.StartService(t, kit.Cluster(t).Kubeconfig), "any", namespace)
	path := filepath.Join(t.TempDir(), "poll.sh")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	program := kit.StartProcess(t, "env", "no_proxy=*", "sh", path)
	prints := func(want string) {
		t.Helper()
		if _, err := program.UntilPrints(ctx, func(line string) bool { return line == want }); err != nil {
			t.Fatal(err)
		}
	}
	prints("web: 0 ready")
	kit.CreateDeployment(ctx, t, namespace, "other", 0)
	prints("other: 0 ready")
	if text := program.Output(); strings.Contains(text, "status") {
		t.Errorf("the script has printed %s", text)
	}
}
