package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestDescriptors_AreReserved(t *testing.T) {
	for nofile, want := range map[serving.Descriptors]struct{ callers, metrics int }{
		64:        {callers: 32, metrics: 8},
		1024:      {callers: 512, metrics: 128},
		4096:      {callers: 3072, metrics: 256},
		5120:      {callers: 4096, metrics: 256},
		1_048_576: {callers: 4096, metrics: 256},
	} {
		if callers, metrics := nofile.ForCallers(4096), nofile.ForMetrics(maxMetricsConnections); callers != want.callers || metrics != want.metrics {
			t.Errorf("%d: %d connections of callers and %d for metrics, want %+v", nofile, callers, metrics, want)
		}
		got := checkDescriptors(nofile, 4096)
		if isOK := got.Outcome == preflight.OK; isOK != (want.callers == 4096) || !isOK && (got.Consequence == "" || got.Remedy == "") {
			t.Errorf("%d: the check is %+v", nofile, got)
		}
	}
}

// asService is a variable in which the program of the tests is the service.
const asService = "KUBECONNECT_TEST_AS_SERVICE"

// limitedService is a service in a process of its own, with a limit of open files.
type limitedService struct{ listen, metrics, log string }

// startLimited starts a service at a fake API server until the test ends. It returns what the service has
// logged until it serves.
func startLimited(t *testing.T, nofile string) (started limitedService) {
	t.Helper()
	program, err := os.Executable()
	succeeds(t, err)
	kubeconfig := t.TempDir() + "/kubeconfig"
	api := fakeapi.New(t)
	succeeds(t, os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"a",`+
		`"clusters":[{"name":"a","cluster":{"server":"`+api.Config().Host+`"}}],"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"users":[{"name":"a","user":{}}]}`), 0o600))
	command := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n `+nofile+` && exec "$0" "$@"`, program,
		"--kubeconfig="+kubeconfig, "--auth=none", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0")
	command.Env = append(os.Environ(), asService+"=1")
	stderr, err := command.StderrPipe()
	succeeds(t, err)
	succeeds(t, command.Start())
	lines, served, read := bufio.NewReader(stderr), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		<-served
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-read
		_ = command.Wait()
	})
	defer close(served)
	for started.listen == "" {
		line, err := lines.ReadString('\n')
		started.log += line
		if err != nil {
			t.Fatalf("the service ends: %s", started.log)
		}
		if found := regexp.MustCompile(`msg=(metrics|serving) address=http://([\d.:]+)`).FindStringSubmatch(line); found != nil {
			*map[string]*string{"metrics": &started.metrics, "serving": &started.listen}[found[1]] = found[2]
		}
	}
	return started
}

// TestDescriptors_HealthAndMetricsAreServedWhenCallersTakeAll opens more connections to a service than it
// can have open files.
func TestDescriptors_HealthAndMetricsAreServedWhenCallersTakeAll(t *testing.T) {
	s := startLimited(t, "64")
	if !regexp.MustCompile(`level=WARN msg="the limit of open files.* nofile=64 max_connections=4096 connections=32\n`).MatchString(s.log) {
		t.Errorf("the service logs %s", s.log)
	}
	fromProbe := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}} // another address than that of the callers
	probe := &http.Client{Transport: &http.Transport{DialContext: fromProbe.DialContext, DisableKeepAlives: true}}
	for range 3 {
		for _, address := range []string{s.listen, s.metrics} {
			for range 100 {
				conn, err := net.Dial("tcp", address)
				succeeds(t, err)
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
		for _, page := range []string{s.listen + "/livez", s.listen + "/readyz", s.metrics + "/metrics"} {
			answer, err := probe.Get("http://" + page)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", page, answer.Status)
			}
		}
	}
}

// TestDescriptors_WarnNothingIfTheyAreMany starts a service with the limit of this machine.
func TestDescriptors_WarnNothingIfTheyAreMany(t *testing.T) {
	if serving.OpenFiles() < 4096+serving.MaxReservedDescriptors {
		t.Skip("this machine allows few open files")
	}
	if s := startLimited(t, "$(ulimit -Hn)"); strings.Contains(s.log, "open files") {
		t.Errorf("the service logs %s", s.log)
	}
}
