package kubeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// kubectl returns a command that uses a service, or the API server if service is nil.
func kubectl(ctx context.Context, t *testing.T, service *harness.Service, args ...string) *exec.Cmd {
	t.Helper()
	if service != nil {
		args = append([]string{"--server", service.Address}, args...)
	}
	return kit.Cluster(t).Kubectl(ctx, args...)
}

// run runs a command and returns its output; an error has what it has printed.
func run(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", command.Args[1:], err, output)
	}
	return string(output)
}

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "example.com/web:1"}]
`

// ages are the parts of an output that differ from one second to the next.
var ages = regexp.MustCompile(`\b\d+(ms|s|m|h)\d*s?\b| +`)

// TestKubectl_ReadsAndChanges runs the commands of a day. Those that read print the same as with the API server.
func TestKubectl_ReadsAndChanges(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(args ...string) *exec.Cmd {
		return kubectl(ctx, t, service, append([]string{"--namespace", namespace}, args...)...)
	}
	for _, args := range [][]string{
		{"apply", "--filename", file},
		{"apply", "--server-side", "--field-manager", "other", "--force-conflicts", "--filename", file},
		{"rollout", "status", "deployment/web"},
		{"scale", "deployment/web", "--replicas", "3"},
		{"wait", "deployment/web", "--for", "condition=Available", "--timeout", "30s"},
		{"label", "deployment/web", "color=red"},
		{"annotate", "deployment/web", "note=1"},
		{"set", "image", "deployment/web", "main=example.com/web:2"},
		{"patch", "deployment/web", "--patch", `{"spec":{"revisionHistoryLimit":3}}`},
		{"create", "configmap", "settings", "--from-literal", "a=1"},
		{"auth", "can-i", "create", "pods"},
	} {
		run(t, at(args...))
	}
	difference := at("diff", "--filename", file)
	if output, err := difference.Output(); err == nil || !strings.Contains(string(output), "replicas: 3") {
		t.Errorf("diff: %v\n%s", err, output)
	}
	edit := at("edit", "configmap/settings")
	edit.Env = append(edit.Env, `KUBE_EDITOR=sed -i 's/a: "1"/a: "2"/'`, "TMPDIR="+t.TempDir())
	run(t, edit)
	if value := run(t, at("get", "configmap/settings", "--output", "jsonpath={.data.a}")); value != "2" {
		t.Errorf("the edited value is %q", value)
	}
	kit.Eventually(ctx, t, "the deployment has settled", func() error {
		_, err := kubectl(ctx, t, nil, "--namespace", namespace, "rollout", "status", "deployment/web", "--timeout", "1s").Output()
		return err
	})
	for _, args := range [][]string{
		{"get", "pods"}, {"get", "pods", "--output", "wide"}, {"get", "pods", "--output", "name"}, {"get", "all"},
		{"get", "deployment/web", "--output", "yaml"}, {"get", "pods", "--selector", "app=web", "--output", "json"},
		{"get", "pods", "--chunk-size", "1"}, {"get", "deployment/web", "--show-managed-fields", "--output", "yaml"},
		{"get", "deployments,configmaps"}, {"describe", "deployment/web"}, {"api-resources", "--no-headers"}, {"api-versions"},
		{"explain", "deployment.spec"}, {"version", "--output", "json"}, {"auth", "whoami"},
		{"events"}, {"get", "nothing"}, {"get", "pod/missing"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			want, wantErr := kubectl(ctx, t, nil, append([]string{"--namespace", namespace}, args...)...).CombinedOutput()
			got, gotErr := at(args...).CombinedOutput()
			if normal(got) != normal(want) || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%v\n%s\nwant %v\n%s", gotErr, got, wantErr, want)
			}
		})
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := kubectl(watching, t, service, "--namespace", namespace, "get", "configmaps", "--watch", "--output", "name")
	seen, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	run(t, at("create", "configmap", "watched"))
	untilPrinted(t, seen, "configmap/watched")
	cancel()
	_ = watch.Wait()
	run(t, at("delete", "deployment/web", "configmap/settings"))
}

func normal(output []byte) string { return ages.ReplaceAllString(string(output), " ") }

// untilPrinted reads until a text was printed.
func untilPrinted(t *testing.T, from io.Reader, text string) {
	t.Helper()
	var printed bytes.Buffer
	part := make([]byte, 4<<10)
	for !strings.Contains(printed.String(), text) {
		n, err := from.Read(part)
		printed.Write(part[:n])
		if err != nil {
			t.Fatalf("%v; printed %q, and not %q", err, printed.String(), text)
		}
	}
}

// TestKubectl_ReachesContainers runs commands in a container, copies files, attaches to it, reads its log, and forwards a port.
func TestKubectl_ReachesContainers(t *testing.T) {
	t.Parallel()
	pods := kit.NewLoggingPods(t)
	ctx, namespace := pods.Ctx, pods.Namespace
	log := pods.Start("one", kit.Labels{"app": "web"}, "main")[0]
	log.Write("first line\n")
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	at := func(args ...string) *exec.Cmd {
		return kubectl(ctx, t, service, append([]string{"--namespace", namespace}, args...)...)
	}
	if output := run(t, at("exec", "one", "--", "echo", "hello")); output != "hello\n" {
		t.Errorf("exec printed %q", output)
	}
	failing := at("exec", "one", "--", "sh", "-c", "exit 3")
	if err := failing.Run(); failing.ProcessState.ExitCode() != 3 {
		t.Errorf("exec ended with %v, want the exit code 3", err)
	}
	interactive := at("exec", "--stdin", "one", "--", "cat")
	interactive.Stdin = strings.NewReader("typed\n")
	if output := run(t, interactive); output != "typed\n" {
		t.Errorf("exec with input printed %q", output)
	}
	local := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(local, bytes.Repeat([]byte("content\n"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, at("cp", local, "one:/tmp/file"))
	run(t, at("cp", "one:/tmp/file", local+".back"))
	if back, err := os.ReadFile(local + ".back"); err != nil || len(back) != 80_000 {
		t.Errorf("%d bytes came back: %v", len(back), err)
	}
	if output := run(t, at("logs", "one")); output != "first line\n" {
		t.Errorf("logs printed %q", output)
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	follow := kubectl(following, t, service, "--namespace", namespace, "logs", "--follow", "one")
	lines, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	untilPrinted(t, lines, "first line")
	log.Write("second line\n")
	untilPrinted(t, lines, "second line")
	cancel()
	_ = follow.Wait()
	forwardPort(t, pods, service)
}

// answerOnce answers an HTTP request on a connection.
func answerOnce(connection net.Conn) {
	if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nfrom the pod")
	}
}

func forwardPort(t *testing.T, pods *kit.LoggingPods, service *harness.Service) {
	t.Helper()
	pods.Kubelet.Listen(pods.Namespace, "one", 8080, answerOnce)
	ctx, cancel := context.WithCancel(pods.Ctx)
	defer cancel()
	forward := kubectl(ctx, t, service, "--namespace", pods.Namespace, "port-forward", "pod/one", ":8080")
	printed, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 200)
	n, err := printed.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(string(first[:n]))
	if port == nil {
		t.Fatalf("port-forward printed %q", first[:n])
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port[1]+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || string(body) != "from the pod" {
		t.Errorf("the pod responded %q, error %v", body, err)
	}
	cancel()
	_ = forward.Wait()
}

// TestKubeconfig_IsOfACallerOverTLS uses the kubeconfig that the program prints, with the token of a service account.
func TestKubeconfig_IsOfACallerOverTLS(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	served := kit.NewCertificate(t)
	service := kit.StartForCallers(t, "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	account := kit.NewAccount(ctx, t, namespace, "robot")
	account.GrantIn(namespace, "editor", rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps", "pods", "pods/exec"}})
	path := printedKubeconfig(ctx, t, service, account, served)
	as := func(args ...string) *exec.Cmd {
		return kit.Cluster(t).Kubectl(ctx, append([]string{"--kubeconfig", path, "--namespace", namespace}, args...)...)
	}
	kit.Eventually(ctx, t, "the caller has its permissions", func() error { return as("get", "configmaps").Run() })
	run(t, as("create", "configmap", "mine", "--from-literal", "a=1"))
	if output := run(t, as("get", "configmap/mine", "--output", "jsonpath={.data.a}")); output != "1" {
		t.Errorf("the value is %q", output)
	}
	if output := run(t, as("auth", "whoami", "--output", "jsonpath={.status.userInfo.username}")); output != account.User() {
		t.Errorf("the user is %q", output)
	}
	output, err := as("get", "secrets").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "is forbidden") {
		t.Errorf("secrets: %v\n%s", err, output)
	}
	output, err = as("exec", "missing", "--", "ls").CombinedOutput()
	if err == nil || !strings.Contains(string(output), `pods "missing" not found`) {
		t.Errorf("exec: %v\n%s", err, output)
	}
}

// printedKubeconfig returns the path of the kubeconfig that the program prints, for an account at a service with a certificate.
func printedKubeconfig(ctx context.Context, t *testing.T, service *harness.Service, account kit.Account, served kit.Certificate) string {
	t.Helper()
	program, err := harness.Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(ctx, program, "kubeconfig", "--server", service.Address,
		"--kubeconfig", account.Kubeconfig(), "--certificate-authority", served.CertFile).Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconnect.yaml")
	if err := os.WriteFile(path, printed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
