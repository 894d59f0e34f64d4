package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// containersStep is a step of a program that connects to containers.
type containersStep struct {
	Text, Stdout, Stderr, Address    string
	Kind, Reason, Message, RequestID string
	Files                            []string
	Same, Executable                 bool
	Code                             int
}

// TestPython_ConnectsToContainers runs commands, copies files, attaches to a container and forwards ports, over TLS and as a caller
// with a token, and once in plain text.
func TestPython_ConnectsToContainers(t *testing.T) {
	t.Parallel()
	served := kit.NewCertificate(t)
	service := kit.StartForCallers(t, "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	plain := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			pods, log := startContainers(t)
			folder, token := containerFiles(t, pods)
			command := append(kit.PythonProgram(t, "python", "containers.py"), way)
			caller := startProgram(t, command, service.Address, served.CertFile, token, plain.Address, pods.Namespace, folder)
			caller.wantCommands(pods.Ctx)
			caller.wantCopies(pods)
			caller.wantAttached(pods, log)
			caller.wantForwarded(pods.Ctx)
			caller.wantPorts(pods.Ctx)
			caller.wantRefusedLocally(pods.Ctx)
			caller.wantContainerErrors(pods.Ctx, t, service)
			caller.Ends(pods.Ctx)
		})
	}
}

// startContainers starts the pod "one", at whose port 7 an echo listens, and "lost" on a node that is unreachable.
func startContainers(t *testing.T) (*kit.LoggingPods, *kubelet.Log) {
	t.Helper()
	pods := kit.NewLoggingPods(t)
	log := pods.Start("one", nil, "main")[0]
	pods.Kubelet.Listen(pods.Namespace, "one", 7, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	startOnLostNode(t, pods, "lost")
	return pods, log
}

// containerFiles returns a folder with the files to copy, and a file with the token of a caller who may connect to the containers.
func containerFiles(t *testing.T, pods *kit.LoggingPods) (folder, token string) {
	t.Helper()
	account := kit.NewAccount(pods.Ctx, t, pods.Namespace, "robot")
	account.GrantIn(pods.Namespace, "operator", rbacv1.PolicyRule{
		Verbs: []string{"create", "get"}, APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/attach", "pods/portforward"},
	})
	folder = t.TempDir()
	writeSources(t, folder)
	token = filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte(account.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder, token
}

// startOnLostNode creates a pod on a node whose kubelet cannot be reached.
func startOnLostNode(t *testing.T, pods *kit.LoggingPods, name string) {
	t.Helper()
	client := kit.Cluster(t).Client.CoreV1()
	node, err := client.Nodes().Create(pods.Ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-"},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 1}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Nodes().Delete(context.WithoutCancel(pods.Ctx), node.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}
	if _, err := client.Pods(pods.Namespace).Create(pods.Ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// large is the content of a file that needs several messages.
var large = bytes.Repeat([]byte("content\n"), 100_000)

// writeSources writes the files that are copied into a container.
func writeSources(t *testing.T, folder string) {
	t.Helper()
	for name, content := range map[string][]byte{"large": large, "run.sh": []byte("#!/bin/sh\n"), "empty": nil, "below/two words/Grüße": []byte("hello\n")} {
		path := filepath.Join(folder, "source", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if name == "run.sh" {
			mode = 0o700
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
}

func (p program) wantContainersStep(ctx context.Context, step string, want containersStep) {
	p.t.Helper()
	var got containersStep
	p.Step(ctx, step, &got)
	if !reflect.DeepEqual(got, want) {
		p.t.Errorf("step %s: %+v, want %+v", step, got, want)
	}
}

func (p program) wantCommands(ctx context.Context) {
	p.t.Helper()
	p.wantContainersStep(ctx, "plain", containersStep{Text: "hello\n"})
	p.wantContainersStep(ctx, "executed", containersStep{Text: "error\n", Same: true, Code: 3})
	p.wantContainersStep(ctx, "terminal", containersStep{Stdout: "exit 4\r\n", Code: 4})
}

func (p program) wantCopies(pods *kit.LoggingPods) {
	p.t.Helper()
	files := []string{"below/two words/Grüße", "empty", "large", "run.sh"}
	p.wantContainersStep(pods.Ctx, "copied", containersStep{Files: files, Same: true, Executable: true})
	for _, name := range []string{"/tmp/-large", "/tmp/copied/large"} {
		content, err := pods.Kubelet.Container(pods.Namespace, "one", "main").Host.Files.ReadFile(name)
		if err != nil || !bytes.Equal(content, large) {
			p.t.Errorf("%s has %d bytes: %v", name, len(content), err)
		}
	}
	var failed containersStep
	p.Step(pods.Ctx, "not copied", &failed)
	if failed.Code == 0 || !strings.Contains(failed.Message, "No such file or directory") {
		p.t.Errorf("the copy of a file that does not exist: %+v", failed)
	}
}

// wantAttached ends the main process when it has the input of an attached client.
func (p program) wantAttached(pods *kit.LoggingPods, log *kubelet.Log) {
	p.t.Helper()
	kit.Eventually(pods.Ctx, p.t, "the container has its input", func() error {
		if input := pods.Kubelet.Container(pods.Namespace, "one", "main").Input(); input != "typed\n" {
			return fmt.Errorf("its input is %q", input)
		}
		return nil
	})
	log.Write("written\n")
	log.End()
	p.wantContainersStep(pods.Ctx, "attached", containersStep{Stdout: "written\n"})
}

func (p program) wantForwarded(ctx context.Context) {
	p.t.Helper()
	var forwarded containersStep
	p.Step(ctx, "forwarded", &forwarded)
	if forwarded.Text != "0\n0\n1\n1\n2\n2\n" || !strings.HasPrefix(forwarded.Address, "127.0.0.1:") {
		p.t.Errorf("forwarded %+v", forwarded)
	}
}

func (p program) wantPorts(ctx context.Context) {
	p.t.Helper()
	p.wantContainersStep(ctx, "streamed", containersStep{Same: true})
	p.wantContainerError(ctx, "refused", "Unavailable", "", "port 8 of the pod", "connection refused")
}

func (p program) wantRefusedLocally(ctx context.Context) {
	p.t.Helper()
	var closed containersStep
	p.Step(ctx, "closed connection", &closed)
	if closed.Text != "reset" || !strings.Contains(closed.Message, "connection refused") {
		p.t.Errorf("a port at which no process listens: %+v", closed)
	}
}

func (p program) wantContainerErrors(ctx context.Context, t *testing.T, service *harness.Service) {
	t.Helper()
	missing := p.wantContainerError(ctx, "missing pod", "NotFound", "NotFound", `pods "nobody" not found`)
	if _, err := service.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, " request_id="+missing+" ") }); err != nil {
		t.Errorf("the call %q is not in the log: %v", missing, err)
	}
	p.wantContainerError(ctx, "missing container", "InvalidArgument", "BadRequest", "container none is not valid for pod one")
	p.wantContainerError(ctx, "missing program", "Internal", "InternalError", `exec: "nothing": executable file not found in $PATH`)
	p.wantContainerError(ctx, "unreachable", "Internal", "InternalError", "connection refused")
	p.wantContainerError(ctx, "forbidden", "Forbidden", "Forbidden", "cannot")
	p.wantContainerError(ctx, "late", "DeadlineExceeded", "", "timeout")
	p.wantContainerError(ctx, "closed", "Cancelled", "", "closed")
}

// wantContainerError fails the test unless a step has failed with an error of a class, with a reason and words. It returns the ID of
// the request.
func (p program) wantContainerError(ctx context.Context, step, kind, reason string, words ...string) string {
	p.t.Helper()
	var failed containersStep
	p.Step(ctx, step, &failed)
	if failed.Kind != kind || failed.Reason != reason {
		p.t.Errorf("%s: %+v, want %s with the reason %q", step, failed, kind, reason)
	}
	for _, word := range words {
		if !strings.Contains(failed.Message, word) {
			p.t.Errorf("%s: %q does not contain %q", step, failed.Message, word)
		}
	}
	return failed.RequestID
}
