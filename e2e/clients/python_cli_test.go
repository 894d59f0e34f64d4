package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fvbommel/sortorder"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// TestPythonCommandLine_ReadsAndChangesTheCluster runs each command of the command line once, and
// compares what it prints with the cluster.
func TestPythonCommandLine_ReadsAndChangesTheCluster(t *testing.T) {
	t.Parallel()
	c := newCommandLine(t, harness.StartService(t, kit.Cluster(t).Kubeconfig))
	kit.RunDeployment(c.ctx, t, c.namespace, "web", 2, kit.Labels{})
	pods := kit.PodNames(c.ctx, t, c.namespace, "app=web")

	c.wantPodsInAllFormats(pods)
	c.wantSelected(pods)
	c.wantLines(c.run("count", "pods", "--by", "phase"), "PHASE     COUNT", "Running   2")
	top := c.run("top", "namespaces", "-n", c.namespace)
	c.wantLines(strings.Fields(top[0]), "NAMESPACE", "PODS", "RUNNING", "PENDING", "SUCCEEDED", "FAILED", "UNKNOWN")
	c.wantLines(strings.Fields(top[1]), c.namespace, "2", "2", "0", "0", "0", "0")

	c.wantLines(c.run("scale", "deployment/web", "--replicas", "3"), "deployment.apps/web scaled")
	c.wantLines(c.run("wait", "deployment/web", "--for", "rollout", "--timeout", "60s"), "deployment.apps/web condition met")
	if now := kit.GetDeployment(c.ctx, t, c.namespace, "web"); now.Status.AvailableReplicas != 3 {
		t.Errorf("after the rollout %d replicas are available", now.Status.AvailableReplicas)
	}
	c.wantLines(c.run("restart", "deployment", "web"), "deployment.apps/web restarted")
	for _, condition := range []string{"rollout", "condition=Available", "jsonpath={.spec.replicas}=3", "object.spec.replicas == 3"} {
		c.wantLines(c.run("wait", "deploy", "web", "--for", condition, "--timeout", "1m"), "deployment.apps/web condition met")
	}
	c.wantFailure("not met within 1 seconds; last state:", "wait", "deploy/web", "--for", "object.spec.replicas == 9", "--timeout", "1s")
	c.wantApplied()
	c.wantCordoned()
	c.wantDescribed()
	c.wantErrors()
	c.wantCompleted()

	c.wantLines(c.run("delete", "deployment", "web", "--cascade", "foreground", "--timeout", "1m"), "deployment.apps/web deleted")
	if left := kit.PodNames(c.ctx, t, c.namespace, "app=web"); len(left) > 0 {
		t.Errorf("after the deletion there are the pods %q", left)
	}
}

// TestPythonCommandLine_FollowsChanges kills the service while objects change, and ends each watch as
// Ctrl-C does.
func TestPythonCommandLine_FollowsChanges(t *testing.T) {
	t.Parallel()
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	c := newCommandLine(t, service)
	maps := kit.ConfigMapsIn(c.ctx, t, kit.Cluster(t), c.namespace)
	maps.Create("first", nil)
	table := c.start("get", "configmaps", "-w", "--field-selector", "metadata.name!=kube-root-ca.crt")
	lines := c.start("watch", "configmaps", "first", "-o", "jsonl")
	names := c.start("watch", "configmaps", "-o", "name", "--watch-only")
	columns := c.start("watch", "configmaps", "first", "-o", "custom-columns=KEY:.data.key")
	table.prints("EVENT", "NAME", "DATA", "AGE")
	columns.prints("ADDED", "value")
	table.prints("ADDED", "first", "1")
	lines.printsEvent("ADDED", "first")
	maps.Create("sync", nil) // until the watch without the first objects has begun
	touches := 0
	kit.Eventually(c.ctx, t, "the watch of names has begun", func() error {
		touches++
		maps.Touch("sync", fmt.Sprint(touches))
		if names.process.Output() == "" {
			return errors.New("nothing is printed")
		}
		return nil
	})

	maps.Touch("first", "red")
	table.prints("MODIFIED", "first", "1")
	columns.prints("MODIFIED", "red")
	lines.printsEvent("MODIFIED", "first")
	names.prints("MODIFIED", "configmap/first")
	service.Crash()
	maps.Delete("first")
	maps.Create("meanwhile", nil)
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	table.prints("DELETED", "first", "1")
	table.prints("ADDED", "meanwhile", "1")
	names.prints("ADDED", "configmap/meanwhile")
	lines.printsEvent("DELETED", "first")
	names.prints("DELETED", "configmap/first")
	for _, each := range []following{table, lines, names, columns} {
		each.interrupted()
	}
	if strings.Contains(names.process.Output(), "ADDED    configmap/kube-root-ca.crt") {
		t.Errorf("with --watch-only the first objects are printed:\n%s", names.process.Output())
	}
}

// TestPythonCommandLine_FollowsTheLogsOfSeveralPods follows two pods, one that is created later, and
// one container that is restarted.
func TestPythonCommandLine_FollowsTheLogsOfSeveralPods(t *testing.T) {
	t.Parallel()
	c := newCommandLine(t, harness.StartService(t, kit.Cluster(t).Kubeconfig))
	node := kubelet.Start(t, kit.Cluster(t).Client)
	logs := map[string]*kubelet.Log{}
	for _, pod := range []string{"one", "two"} {
		logs[pod] = c.startLogging(node, pod, "first")
		logs[pod].Write(pod + " begins\n")
	}
	follow := c.start("logs", "-f", "-l", "app=logs")
	follow.prints("[pod/one/main]", "one", "begins")
	follow.prints("[pod/two/main]", "two", "begins")
	logs["two"].Write("two continues\n")
	follow.prints("[pod/two/main]", "two", "continues")
	logs["one"].Write("one continues\n")
	follow.prints("[pod/one/main]", "one", "continues")

	later := c.startLogging(node, "later", "first")
	later.Write("later begins\n")
	follow.prints("[pod/later/main]", "later", "begins")

	logs["one"].End()
	again := &kubelet.Log{}
	node.Answer(c.namespace, "one", "main", again)
	c.setRunning("one", "second")
	again.Write("one is restarted\n")
	follow.prints("[pod/one/main]", "one", "is", "restarted")
	follow.interrupted()

	c.wantLines(c.run("logs", "two"), "two begins", "two continues")
	c.wantLines(c.run("logs", "two", "--tail", "1", "--prefix"), "[pod/two/main] two continues")
}

// TestPythonCommandLine_OfACallerWithOneNamespace reads all namespaces that the caller is allowed to
// list, and prints what the caller is not allowed to do.
func TestPythonCommandLine_OfACallerWithOneNamespace(t *testing.T) {
	t.Parallel()
	c := newCommandLine(t, kit.StartForCallers(t))
	c.wantFailure("hint: pass --token-file or --context, or set KUBECONNECT_TOKEN_FILE", "get", "pods")
	caller := kit.NewAccount(c.ctx, t, c.namespace, "reader")
	caller.GrantIn(c.namespace, "reader", kit.Rule("configmaps", "get", "list", "watch"))
	c.tokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.tokenFile, []byte(caller.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(c.ctx, t, "the permission is effective", func() error {
		if _, stderr, exitCode := c.output(nil, "get", "configmaps"); exitCode != 0 {
			return errors.New(stderr)
		}
		return nil
	})

	c.wantLines(c.run("who-am-i", "-o", "name"), caller.User())
	for _, args := range [][]string{
		{"get", "configmaps", "-A"},
		{"get", "configmaps", "-A", "--sort-by", ".metadata.name"},
		{"get", "configmaps", "-A", "-o", "custom-columns=NAMESPACE:.metadata.namespace"},
	} {
		c.wantLines(c.column(c.run(args...), "NAMESPACE"), c.namespace)
	}
	for _, command := range []string{"get", "count"} {
		if _, stderr, _ := c.output(nil, command, "configmaps", "-A"); !strings.HasPrefix(stderr, "warning: ") || strings.Count(stderr, c.namespace) != 1 {
			t.Errorf("%s of one namespace prints %q", command, stderr)
		}
	}
	if stdout, _, exitCode := c.output(nil, "can-i", "delete", "configmaps"); exitCode != 1 || stdout != "no\n" {
		t.Errorf("can-i: exit code %d, %q", exitCode, stdout)
	}
	c.wantFailure("hint: `kubeconnect who-am-i` prints your identity", "get", "pods")
	c.wantFailure("hint: `kubeconnect who-am-i` prints your identity", "get", "pods", "-A")
}

// commandLine runs the command line of the Python client in a namespace.
type commandLine struct {
	ctx                context.Context
	t                  *testing.T
	address, namespace string
	tokenFile          string // empty: no token
}

func newCommandLine(t *testing.T, service *harness.Service) *commandLine {
	t.Helper()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	return &commandLine{ctx: ctx, t: t, address: service.Address, namespace: kit.NewNamespace(ctx, t, kit.Cluster(t))}
}

// command returns the arguments of a process.
func (c *commandLine) command(args ...string) []string {
	c.t.Helper()
	words := append(kit.PythonProgram(c.t, "python", "command.py"), "--address", c.address, "-n", c.namespace)
	if c.tokenFile != "" {
		words = append(words, "--token-file", c.tokenFile)
	}
	return append(words, args...)
}

// output runs a command with additional variables of the environment.
func (c *commandLine) output(env []string, args ...string) (stdout, stderr string, exitCode int) {
	c.t.Helper()
	words := c.command(args...)
	command := exec.CommandContext(c.ctx, words[0], words[1:]...)
	command.Env = append(os.Environ(), env...)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		c.t.Fatal(err)
	}
	if strings.Contains(problems.String(), "Traceback") {
		c.t.Errorf("%q:\n%s", args, problems.String())
	}
	return out.String(), problems.String(), command.ProcessState.ExitCode()
}

// run returns the lines that a command prints, and fails the test unless it succeeds.
func (c *commandLine) run(args ...string) []string {
	c.t.Helper()
	stdout, stderr, exitCode := c.output(nil, args...)
	if exitCode != 0 {
		c.t.Fatalf("%q: exit code %d: %s", args, exitCode, stderr)
	}
	return strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
}

func (c *commandLine) wantLines(got []string, want ...string) {
	c.t.Helper()
	if !slices.Equal(got, want) {
		c.t.Errorf("printed %q, want %q", got, want)
	}
}

// wantFailure fails the test unless a command ends with the exit code 1 and prints only this error.
func (c *commandLine) wantFailure(want string, args ...string) {
	c.t.Helper()
	stdout, stderr, exitCode := c.output(nil, args...)
	if exitCode != 1 || stdout != "" || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, want) {
		c.t.Errorf("%q: exit code %d, printed %q and %q, want %q", args, exitCode, stdout, stderr, want)
	}
}

// columns returns the column with a heading. The cells of the columns before it have no spaces.
func (c *commandLine) column(lines []string, heading string) []string {
	c.t.Helper()
	index := slices.Index(strings.Fields(lines[0]), heading)
	if index < 0 {
		c.t.Fatalf("no column %s: %q", heading, lines[0])
	}
	cells := []string{}
	for _, line := range lines[1:] {
		cells = append(cells, strings.Fields(line)[index])
	}
	return cells
}

func (c *commandLine) wantPodsInAllFormats(pods []string) {
	c.t.Helper()
	table := c.run("get", "pods")
	c.wantLines(strings.Fields(table[0]), "NAME", "READY", "STATUS", "RESTARTS", "AGE")
	c.wantLines(c.column(table, "NAME"), pods...)
	c.wantLines(c.column(table, "STATUS"), "Running", "Running")
	if wide := c.run("get", "po", "-o", "wide")[0]; !strings.Contains(wide, "NODE   ") {
		c.t.Errorf("wide: %q", wide)
	}
	c.wantLines(c.run("get", "pods", "-o", "name"), "pod/"+pods[0], "pod/"+pods[1])
	c.wantLines(c.column(c.run("get", "pod", pods[1], pods[0]), "NAME"), pods[1], pods[0])
	c.wantLines(c.column(c.run("get", "pods", "-A", "--field-selector", "metadata.namespace="+c.namespace), "NAMESPACE"), c.namespace, c.namespace)
	c.wantLines(c.column(c.run("get", "deploy,pods")[:2], "NAME"), "deployment.apps/web")

	var list corev1.PodList
	c.decode(&list, "get", "pods", "-o", "json")
	c.wantLines(namesOf(list), pods...)
	list = corev1.PodList{}
	c.decode(&list, "get", "pods", "-o", "yaml")
	c.wantLines(namesOf(list), pods...)
	for i, line := range c.run("get", "pods", "-o", "jsonl") {
		var pod corev1.Pod
		if err := json.Unmarshal([]byte(line), &pod); err != nil || pod.Name != pods[i] || pod.Kind != "Pod" {
			c.t.Errorf("line %d: %v: %.80q", i, err, line)
		}
	}
	var pod corev1.Pod
	c.decode(&pod, "get", "pod/"+pods[0], "-o", "yaml")
	now, err := kit.Cluster(c.t).Client.CoreV1().Pods(c.namespace).Get(c.ctx, pods[0], metav1.GetOptions{})
	if err != nil || pod.UID != now.UID || pod.APIVersion != "v1" {
		c.t.Errorf("printed the pod %s (%s), want %s: %v", pod.UID, pod.APIVersion, now.UID, err)
	}
}

func (c *commandLine) decode(into any, args ...string) {
	c.t.Helper()
	if err := yaml.UnmarshalStrict([]byte(strings.Join(c.run(args...), "\n")), into); err != nil {
		c.t.Fatalf("%q: %v", args, err)
	}
}

func namesOf(list corev1.PodList) (names []string) {
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (c *commandLine) wantSelected(pods []string) {
	c.t.Helper()
	filter := fmt.Sprintf("object.metadata.name == %q", pods[1])
	c.wantLines(c.column(c.run("get", "pods", "--filter", filter), "NAME"), pods[1])
	naturally := slices.SortedFunc(slices.Values(pods), sortorder.NaturalCompare) // numbers in names by their values
	c.wantLines(c.column(c.run("get", "pods", "-l", "app=web", "--sort-by", "{.metadata.name} desc"), "NAME"), naturally[1], naturally[0])
	c.wantLines(c.column(c.run("get", "pods", "--limit", "1"), "NAME"), pods[0])
	c.wantLines(c.run("get", "pods", "-o", "name", "--consistency", "latest", "--limit", "1"), "pod/"+pods[0])
	c.wantLines(c.run("count", "pods", "--filter", filter), "1")
	columns := "custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.spec.nothing"
	c.wantLines(strings.Fields(c.run("get", "pods", "--limit", "1", "--no-headers", "-o", columns)[0]), pods[0], "example.com/web:1", "<none>")
	if stdout, stderr, exitCode := c.output(nil, "get", "pods", "-l", "app=nothing"); exitCode != 0 || stdout != "" || stderr != "No resources found in namespace "+c.namespace+".\n" {
		c.t.Errorf("of nothing: exit code %d, %q, %q", exitCode, stdout, stderr)
	}
}

func (c *commandLine) wantApplied() {
	c.t.Helper()
	role := c.namespace
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: red}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + role + "}\n"
	file := filepath.Join(c.t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	roleName := "clusterrole.rbac.authorization.k8s.io/" + role
	c.wantLines(c.run("apply", "-f", file, "--dry-run"), "configmap/settings created (server dry run)", roleName+" created (server dry run)")
	c.wantLines(c.run("apply", "-f", file), "configmap/settings created", roleName+" created")
	c.wantLines(c.run("apply", "-f", file), "configmap/settings applied", roleName+" applied")
	c.wantConflict(file)
	c.wantLines(c.run("delete", "-f", file), "configmap/settings deleted", roleName+" deleted")
	if _, err := kit.Cluster(c.t).Client.RbacV1().ClusterRoles().Get(c.ctx, role, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		c.t.Errorf("the ClusterRole that was deleted: %v", err)
	}
	c.wantFailure(`configmaps "settings" not found`, "delete", "cm/settings")
}

// wantConflict applies a file whose fields another manager owns.
func (c *commandLine) wantConflict(file string) {
	c.t.Helper()
	c.run("apply", "-f", file, "--field-manager", "other", "--force-conflicts")
	changed := filepath.Join(c.t.TempDir(), "changed.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n"
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.wantFailure(`conflict with "other": .data.color`, "apply", "-f", changed)
	c.wantLines(c.run("apply", "-f", changed, "--force-conflicts"), "configmap/settings applied")
}

// wantCordoned uses a node without capacity, to which the scheduler assigns no pods.
func (c *commandLine) wantCordoned() {
	c.t.Helper()
	nodes := kit.Cluster(c.t).Client.CoreV1().Nodes()
	if _, err := nodes.Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = nodes.Delete(context.WithoutCancel(c.ctx), c.namespace, metav1.DeleteOptions{})
	})
	for _, step := range []struct {
		command       string
		unschedulable bool
	}{{"cordon", true}, {"uncordon", false}} {
		c.wantLines(c.run(step.command, c.namespace), "node/"+c.namespace+" "+step.command+"ed")
		node, err := nodes.Get(c.ctx, c.namespace, metav1.GetOptions{})
		if err != nil || node.Spec.Unschedulable != step.unschedulable {
			c.t.Errorf("after %s: %v, %v", step.command, node.Spec.Unschedulable, err)
		}
	}
}

// wantDescribed runs the commands about the cluster and the caller.
func (c *commandLine) wantDescribed() {
	c.t.Helper()
	c.wantLines(c.run("can-i", "delete", "pods"), "yes")
	c.wantLines(c.run("who-am-i", "-o", "name"), "kubernetes-admin")
	served := c.run("api-resources", "--api-group", "apps", "-o", "name")
	if !slices.Contains(served, "deployments.apps") || slices.Contains(served, "pods") {
		c.t.Errorf("resources: %q", served)
	}
	if row := "pods   po   v1   true   Pod"; !slices.ContainsFunc(c.run("api-resources"), func(line string) bool {
		return slices.Equal(strings.Fields(line), strings.Fields(row))
	}) {
		c.t.Errorf("api-resources does not print %q", row)
	}
	if types := c.run("types", "pods", "deployments.apps"); !slices.Contains(types, "class Pod(TypedDict, total=False):") ||
		!slices.Contains(types, "class Deployment(TypedDict, total=False):") {
		c.t.Errorf("types: %q", types[:5])
	}
}

func (c *commandLine) wantErrors() {
	c.t.Helper()
	c.wantFailure(`error: the cluster serves no resource "podz"; did you mean "pods"`, "get", "podz")
	c.wantFailure("error: filter: ERROR: <input>:1:8: Syntax error", "get", "pods", "--filter", "object.(")
	c.wantFailure("error: kubeconnect is unreachable at http://127.0.0.1:1: Connection refused", "get", "pods", "--address", "http://127.0.0.1:1")
	if stdout, stderr, exitCode := c.output(nil, "get", "pods", "--frobnicate"); exitCode != 2 || stdout != "" || !strings.Contains(stderr, "No such option") {
		c.t.Errorf("wrong usage: exit code %d, %q, %q", exitCode, stdout, stderr)
	}
}

// wantCompleted completes words as bash does.
func (c *commandLine) wantCompleted() {
	c.t.Helper()
	for words, want := range map[string]string{
		"get configm":      "configmaps",
		"get configmaps k": "kube-root-ca.crt",
		"get cm/k":         "cm/kube-root-ca.crt",
		"get pods -n " + c.namespace[:len(c.namespace)-1]: c.namespace,
		"scale deployment w":                              "web",
		"sca":                                             "scale",
		"get pods --field":                                "--field-selector",
		"get nothing x":                                   "",
	} {
		line := "kubeconnect --address " + c.address + " -n " + c.namespace + " " + words
		stdout, stderr, _ := c.output([]string{
			"_KUBECONNECT_COMPLETE=bash_complete", "COMP_WORDS=" + line,
			fmt.Sprint("COMP_CWORD=", len(strings.Fields(line))-1),
		})
		if got := strings.TrimPrefix(strings.TrimSpace(stdout), "plain,"); got != want || stderr != "" {
			c.t.Errorf("%q is completed to %q, want %q; stderr %q", words, got, want, stderr)
		}
	}
	if script := c.run("completion", "zsh"); !strings.Contains(script[0], "#compdef kubeconnect") {
		c.t.Errorf("the script for zsh begins with %q", script[0])
	}
}

// startLogging creates a pod with a log on a node.
func (c *commandLine) startLogging(node *kubelet.Kubelet, name, run string) *kubelet.Log {
	c.t.Helper()
	log := &kubelet.Log{}
	node.Answer(c.namespace, name, "main", log)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: kit.Labels{"app": "logs"}},
		Spec:       corev1.PodSpec{NodeName: node.Node, Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}
	if _, err := kit.Cluster(c.t).Client.CoreV1().Pods(c.namespace).Create(c.ctx, pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.setRunning(name, run)
	return log
}

// setRunning writes the status of a pod whose container runs.
func (c *commandLine) setRunning(name, run string) {
	c.t.Helper()
	status := fmt.Sprintf(`{"status":{"containerStatuses":[{"name":"main","containerID":"test://%s","image":"","imageID":"","ready":true,"restartCount":0,"state":{"running":{}}}]}}`, run)
	if _, err := kit.Cluster(c.t).Client.CoreV1().Pods(c.namespace).Patch(c.ctx, name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		c.t.Fatal(err)
	}
}

// following is a command that runs until it is interrupted.
type following struct {
	ctx     context.Context
	t       *testing.T
	process *harness.Process
}

func (c *commandLine) start(args ...string) following {
	c.t.Helper()
	words := c.command(args...)
	return following{c.ctx, c.t, kit.StartProcess(c.t, words[0], words[1:]...)}
}

// prints blocks until a line with these words is printed, which may be followed by others.
func (f following) prints(words ...string) {
	f.t.Helper()
	_, err := f.process.UntilPrints(f.ctx, func(line string) bool {
		found := strings.Fields(line)
		return len(found) >= len(words) && slices.Equal(found[:len(words)], words)
	})
	if err != nil {
		f.t.Fatalf("%q: %v", words, err)
	}
}

// printsEvent blocks until an event of an object is printed as JSON.
func (f following) printsEvent(kind, name string) {
	f.t.Helper()
	_, err := f.process.UntilPrints(f.ctx, func(line string) bool {
		var event struct {
			Type   string
			Object corev1.ConfigMap
		}
		return json.Unmarshal([]byte(line), &event) == nil && event.Type == kind && event.Object.Name == name
	})
	if err != nil {
		f.t.Fatalf("%s %s: %v", kind, name, err)
	}
}

// interrupted ends the command as Ctrl-C does.
func (f following) interrupted() {
	f.t.Helper()
	if err := syscall.Kill(f.process.PID(), syscall.SIGINT); err != nil {
		f.t.Fatal(err)
	}
	var exited *exec.ExitError
	if err := f.process.Wait(f.ctx); !errors.As(err, &exited) || exited.ExitCode() != 130 {
		f.t.Errorf("after Ctrl-C: %v, want the exit code 130; output:\n%s", err, f.process.Output())
	}
	if strings.Contains(f.process.Output(), "Traceback") {
		f.t.Errorf("output:\n%s", f.process.Output())
	}
}
