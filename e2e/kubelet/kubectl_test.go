package kubelet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// kubectl returns a command in the namespace of the pod.
func (f *fixture) kubectl(args ...string) *exec.Cmd {
	return kit.Cluster(f.t).Kubectl(f.ctx, append([]string{"--namespace", f.namespace}, args...)...)
}

// run runs kubectl, and fails the test unless its exit code is as given.
func (f *fixture) run(input string, code int, args ...string) (out, stderr string) {
	f.t.Helper()
	command := f.kubectl(args...)
	var stdout, errs bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || command.ProcessState.ExitCode() != code {
		f.t.Fatalf("kubectl %q: %v: %s", args, err, errs.String())
	}
	return stdout.String(), errs.String()
}

func TestKubectl_Exec(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kubelet.Start)
	if out, _ := f.run("", 0, "exec", "one", "--", "echo", "a  b"); out != "a  b\n" {
		t.Errorf("echo prints %q", out)
	}
	if out, stderr := f.run("echo $((", 3, "exec", "-i", "one", "-c", "main", "--", "sh", "-c", "cat; echo error >&2; exit 3"); out != "echo $((" || !strings.HasPrefix(stderr, "error\n") {
		t.Errorf("%q, %q", out, stderr)
	}
	if _, stderr := f.run("", 1, "exec", "one", "--", "bash"); !strings.Contains(stderr, `exec: "bash": executable file not found in $PATH`) {
		t.Errorf("without the program: %q", stderr)
	}
}

func TestKubectl_Cp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kubelet.Start)
	from, to := t.TempDir(), t.TempDir()
	content := strings.Repeat("0123456789abcde\n", 1<<14)
	for name, text := range map[string]string{"a": content, "deep/er/b": "b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.run("", 0, "cp", filepath.Join(from, "a"), "one:/tmp/copied")
	f.run("", 0, "cp", from, "one:/srv")
	for name, want := range map[string]string{"/tmp/copied": content, "/srv/a": content, "/srv/deep/er/b": "b"} {
		if data, err := f.container.Host.Files.ReadFile(name); err != nil || string(data) != want {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	f.run("", 0, "cp", "one:/tmp/copied", filepath.Join(to, "one"))
	f.run("", 0, "cp", "--retries=1", "one:/srv", filepath.Join(to, "all"))
	for name, want := range map[string]string{"one": content, "all/a": content, "all/deep/er/b": "b"} {
		if data, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(data) != want {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

func TestKubectl_Attach(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kubelet.Start)
	attached := f.kubectl("attach", "one", "--stdin=false")
	out, err := attached.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := attached.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(f.ctx, t, "kubectl is attached", func() error {
		if f.container.Sessions() == 0 {
			return errors.New("it is not attached")
		}
		return nil
	})
	f.log.Write("written\n")
	f.log.End()
	if read, err := io.ReadAll(out); err != nil || string(read) != "written\n" {
		t.Errorf("%q, %v", read, err)
	}
	if err := attached.Wait(); err != nil {
		t.Error(err)
	}
}

func TestKubectl_PortForward(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kubelet.Start)
	f.kubelet.Listen(f.namespace, "one", 7, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	command := kit.Cluster(t).Kubectl(ctx, "--namespace", f.namespace, "port-forward", "--address", "127.0.0.1", "pod/one", ":7")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(f.readUntil(out, "\n"))
	f.wantEchoes(address)
	cancel()
	if err := command.Wait(); err == nil {
		t.Error("kubectl has ended before it was stopped")
	}
}
