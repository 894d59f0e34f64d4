package kubeapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// session is a sequence of kubectl commands. It runs twice at the same time, each time in a namespace of its own: through the service,
// and at the API server. Both print the same, except for what is random.
type session struct {
	// files are written before, with the namespace in the place of NAMESPACE.
	files map[string]string
	// commands are the arguments of kubectl, separated by spaces. One that fails at the API server begins with "! ".
	commands []string
}

// step is a command of a session, and what it printed.
type step struct {
	output string
	code   int
}

// run runs the session through a service, or at the API server if service is nil.
func (s session) run(ctx context.Context, t *testing.T, service *harness.Service, namespace, folder string) (steps []step) {
	t.Helper()
	for name, content := range s.files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "NAMESPACE", namespace)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	random := regexp.MustCompile(namespace + "|" + regexp.QuoteMeta(folder))
	for _, line := range s.commands {
		args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "! "), "NAMESPACE", namespace))
		command := kubectl(ctx, t, service, append([]string{"--namespace", namespace}, args...)...)
		command.Dir = folder
		command.Env = append(command.Env, `KUBE_EDITOR=sed -i 's/a: "1"/a: "2"/'`, "KUBECTL_APPLYSET=true", "TMPDIR="+folder)
		output, err := command.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		steps = append(steps, step{withoutRandom(random.ReplaceAllString(string(output), "NAMESPACE")), command.ProcessState.ExitCode()})
	}
	return steps
}

// randomParts are the parts of an output that differ between two namespaces, and from one second to the next.
var randomParts = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?m)^(Waiting for|(---|\+\+\+|diff) ).*\n`), ""}, // depends on the moment; temporary files
	{regexp.MustCompile(`(?m)^.*\be2e-\w+\.example\.com\b.*\n`), ""},      // custom resources of other tests
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+\d{4}`), "TIME"},
	{regexp.MustCompile(`([rR]esource ?Version"?: *"?)\d+`), "${1}VERSION"},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"},
	{regexp.MustCompile(`https?://127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(`\bnode-\d+\b`), "NODE"},
	{regexp.MustCompile(`\b(web-[0-9a-z]{8,10}|once)(-[a-z0-9]{5})?\b`), "CHILD"}, // their names depend on the time of a restart
	{regexp.MustCompile(`\b(kube-api-access)-[a-z0-9]{5}\b`), "$1-RANDOM"},
	{regexp.MustCompile(`\b\d+(ms|s|m|h)(\d+s)?\b`), "AGE"},
	{regexp.MustCompile(` +`), " "},
}

func withoutRandom(output string) string {
	for _, part := range randomParts {
		output = part.pattern.ReplaceAllString(output, part.instead)
	}
	return output
}

// compare runs the session on both sides, and compares what its commands print.
func (s session) compare(ctx context.Context, t *testing.T, service *harness.Service) {
	t.Helper()
	var sides [2][]step
	var running sync.WaitGroup
	for i, through := range []*harness.Service{service, nil} {
		namespace, folder := kit.NewNamespace(ctx, t, kit.Cluster(t)), t.TempDir()
		running.Go(func() { sides[i] = s.run(ctx, t, through, namespace, folder) })
	}
	running.Wait()
	for i, command := range s.commands {
		if len(sides[0]) <= i || len(sides[1]) <= i {
			t.Fatalf("%s: not run", command)
		}
		if got, want := sides[0][i], sides[1][i]; got != want {
			t.Errorf("kubectl %s: exit code %d\n%swant %d\n%s", command, got.code, got.output, want.code, want.output)
		} else if fails := strings.HasPrefix(command, "! "); fails != (got.code != 0) {
			t.Errorf("kubectl %s: exit code %d on both sides\n%s", command, got.code, got.output)
		}
	}
}

// TestKubectl_SessionsAreTheSame changes and reads objects by commands. What the same commands print at the API server is compared, in
// the same order, also for errors.
func TestKubectl_SessionsAreTheSame(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, session := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session.compare(kit.DeadlineAfter(t, kit.FaultPatience), t, service)
		})
	}
}

// TestKubectl_WatchesAreTheSame prints changes of an object while they happen: as a table, whose rows the API server makes, and in other
// forms, whose events come from the cache.
func TestKubectl_WatchesAreTheSame(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--keep-managed-fields")
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	at := func(args ...string) *exec.Cmd {
		return kubectl(ctx, t, nil, append([]string{"--namespace", namespace}, args...)...)
	}
	run(t, at("create", "configmap", "before", "--from-literal", "a=1"))
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	type pair struct {
		form      string
		got, want *watchedOutput
	}
	var pairs []pair
	for _, form := range []string{
		"--output-watch-events", "--output-watch-events --output=wide", "--show-labels", "--output=name", "--output-watch-events --output=json",
		"--output=yaml", "--output=jsonpath={.metadata.name}{.data}", "--output=custom-columns=NAME:.metadata.name",
	} {
		args := append([]string{
			"--namespace", namespace, "get", "configmaps", "--field-selector", "metadata.name!=kube-root-ca.crt", "--watch",
		}, strings.Fields(form)...)
		pairs = append(pairs, pair{
			form, startWatching(t, kubectl(watching, t, service, args...)), startWatching(t, kubectl(watching, t, nil, args...)),
		})
	}
	for _, p := range pairs {
		p.got.await(ctx, t, "before")
		p.want.await(ctx, t, "before")
	}
	for _, args := range [][]string{
		{"create", "configmap", "watched", "--from-literal", "a=1"}, {"label", "configmap/watched", "color=red"},
		{"delete", "configmap/watched"}, {"create", "configmap", "last", "--from-literal", "a=1"},
		{"create", "configmap", "zend", "--from-literal", "a=1"},
	} {
		run(t, at(args...))
	}
	// When this is printed, all before it has been.
	for _, p := range pairs {
		p.got.await(ctx, t, "zend")
		p.want.await(ctx, t, "zend")
	}
	cancel()
	for _, p := range pairs {
		got, _, _ := strings.Cut(p.got.end(), "zend")
		want, _, _ := strings.Cut(p.want.end(), "zend")
		if got != want {
			t.Errorf("kubectl get --watch %s printed\n%s\nwant\n%s", p.form, got, want)
		}
	}
}

// watchedOutput is a command that runs, and what it has printed.
type watchedOutput struct {
	command *exec.Cmd
	done    chan struct{}

	mu      sync.Mutex // guards the fields below
	printed strings.Builder
	changed chan struct{} // closed at the next output
}

func startWatching(t *testing.T, command *exec.Cmd) *watchedOutput {
	t.Helper()
	o := &watchedOutput{command: command, done: make(chan struct{}), changed: make(chan struct{})}
	command.Stdout, command.Stderr = o, o
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(o.done)
		_ = command.Wait() // it is ended
	}()
	return o
}

// Write implements io.Writer.
func (o *watchedOutput) Write(part []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.printed.Write(part)
}

// await blocks until the command has printed a text.
func (o *watchedOutput) await(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	for {
		o.mu.Lock()
		printed, changed := o.printed.String(), o.changed
		o.mu.Unlock()
		if strings.Contains(printed, text) {
			return
		}
		select {
		case <-changed:
		case <-o.done:
			t.Fatalf("%v has ended; printed\n%s", o.command.Args, printed)
		case <-ctx.Done():
			t.Fatalf("%v printed\n%s\nand not %q", o.command.Args, printed, text)
		}
	}
}

// end blocks until the command has ended, and returns what it printed without what is random.
func (o *watchedOutput) end() string {
	<-o.done
	return withoutRandom(o.printed.String())
}

// TestKubectl_ProxyPassesOn reads through kubectl's own proxy, which is in front of the service.
func TestKubectl_ProxyPassesOn(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	proxying, cancel := context.WithCancel(ctx)
	defer cancel()
	proxy := startWatching(t, kubectl(proxying, t, service, "proxy", "--port", "0"))
	proxy.await(ctx, t, "Starting to serve on")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(proxy.printed.String())
	got := run(t, kit.Cluster(t).Kubectl(ctx, "--server", fmt.Sprint("http://", address), "--namespace", namespace, "get", "configmaps", "--output", "name"))
	if got != "configmap/kube-root-ca.crt\n" {
		t.Errorf("through the proxy: %q", got)
	}
	cancel()
	proxy.end()
}
