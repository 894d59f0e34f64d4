package kubeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
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

// TestKubectl_ReadsTheSame reads the same objects through the service and at the API server.
func TestKubectl_ReadsTheSame(t *testing.T) {
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
	run(t, at("apply", "--filename", file))
	run(t, at("create", "configmap", "settings", "--from-literal", "a=1"))
	kit.Eventually(ctx, t, "the deployment has settled", func() error {
		_, err := kubectl(ctx, t, nil, "--namespace", namespace, "rollout", "status", "deployment/web", "--timeout", "1s").Output()
		return err
	})
	for _, args := range [][]string{
		{"get", "pods"}, {"get", "pods", "--output", "wide"}, {"get", "pods", "--output", "name"}, {"get", "all"},
		{"get", "deployment/web", "--output", "yaml"}, {"get", "pods", "--selector", "app=web", "--output", "json"},
		{"get", "pods", "--chunk-size", "1"}, {"get", "pods", "--output", "jsonpath={.items[*].status.podIP}"}, {"get", "pods", "--sort-by", ".metadata.uid"},
		{"describe", "pods"}, {"events", "--for", "deployment/web"}, {"get", "pods", "--all-namespaces", "--field-selector", "metadata.namespace=" + namespace}, {"get", "deployment/web", "--show-managed-fields", "--output", "yaml"},
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
}

func normal(output []byte) string { return withoutRandom(ages.ReplaceAllString(string(output), " ")) }

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
	attach(t, pods, service)
}

// attach types into a container, and reads what it writes until it ends.
func attach(t *testing.T, pods *kit.LoggingPods, service *harness.Service) {
	t.Helper()
	log := pods.Start("two", kit.Labels{}, "main")[0]
	attached := kubectl(pods.Ctx, t, service, "--namespace", pods.Namespace, "attach", "--stdin", "two")
	attached.Stdin = strings.NewReader("typed\n")
	printed, err := attached.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := attached.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(pods.Ctx, t, "the container has its input", func() error {
		if input := pods.Kubelet.Container(pods.Namespace, "two", "main").Input(); input != "typed\n" {
			return fmt.Errorf("its input is %q", input)
		}
		return nil
	})
	log.Write("written\n")
	untilPrinted(t, printed, "written\n")
	log.End()
	if err := attached.Wait(); err != nil {
		t.Errorf("attach ended with %v", err)
	}
}

// TestKubectl_FailsInContainersTheSame runs commands that fail, and reads logs, through the service and at the API server.
func TestKubectl_FailsInContainersTheSame(t *testing.T) {
	t.Parallel()
	pods := kit.NewLoggingPods(t)
	for _, log := range pods.Start("one", kit.Labels{"app": "web"}, "main", "side") {
		log.Write("first line\nsecond line\n")
		log.End()
	}
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, args := range [][]string{
		{"exec", "one", "--", "nothing"}, {"exec", "missing", "--", "ls"}, {"exec", "one", "--container", "none", "--", "ls"},
		{"exec", "one", "--", "ls", "/nothing"}, {"exec", "--tty", "--stdin", "one", "--", "echo", "a"}, {"attach", "missing"},
		{"port-forward", "missing", ":80"}, {"cp", "one:/nothing", filepath.Join(t.TempDir(), "copy")},
		{"logs", "missing"}, {"logs", "one"}, {"logs", "one", "--container", "none"}, {"logs", "one", "--previous"},
		{"logs", "one", "--container", "side", "--tail", "1", "--timestamps"}, {"logs", "one", "--container", "main", "--prefix"},
		{"logs", "--selector", "app=web", "--container", "main", "--follow"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			args := append([]string{"--namespace", pods.Namespace}, args...)
			want, wantErr := kubectl(pods.Ctx, t, nil, args...).CombinedOutput()
			got, gotErr := kubectl(pods.Ctx, t, service, args...).CombinedOutput()
			isSame := normal(got) == normal(want)
			if args[2] == "cp" { // kubectl ends before it has printed all that the container has written
				isSame = isSame || strings.HasPrefix(normal(got), normal(want)) || strings.HasPrefix(normal(want), normal(got))
			}
			if !isSame || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("kubectl %v: %v\n%s\nwant %v\n%s", args, gotErr, got, wantErr, want)
			}
		})
	}
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
