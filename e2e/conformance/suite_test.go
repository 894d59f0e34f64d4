package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// processes is the number of processes that run tests at the same time, besides that of the slow tests. A test waits
// for most of its time.
const processes = 4

// setupFlags are the flags for a cluster without kubelets and without pods in kube-system. The suite setup waits
// for neither of them, and a failed test dumps nothing that only nodes have.
var setupFlags = []string{
	"--allowed-not-ready-nodes=-1", "--minStartupPods=-1", "--disable-log-dump", "--dump-logs-on-failure=false",
}

// suite is Kubernetes' end-to-end tests, against one address.
type suite struct {
	binary     string
	kubectl    string // which some of the tests run
	kubeconfig string // with the address under test
	directory  string // for the files that the program writes
}

// newSuite returns the tests against the URL address, with the credentials of a kubeconfig.
func newSuite(t *testing.T, kubeconfig, address string) suite {
	t.Helper()
	return suite{
		binary: upstreamBinary(t), kubectl: program(t, "UPSTREAM_KUBECTL_BIN", "kubectl"),
		kubeconfig: kubeconfigTo(t, kubeconfig, address), directory: t.TempDir(),
	}
}

func upstreamBinary(t *testing.T) string { return program(t, "UPSTREAM_E2E_BIN", "upstream-e2e") }

func program(t *testing.T, variable, name string) string {
	t.Helper()
	path, err := harness.Binary(variable, name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfigTo writes a copy of a kubeconfig with another URL, and returns its path. The scheme may be http: the
// credentials are then not sent.
func kubeconfigTo(t *testing.T, kubeconfig, url string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = url
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs the named tests and returns what became of each of them. Tests that are not [Serial] run in several
// processes at the same time, then the others one after the other. The error is about the run as a whole; failed
// tests are in the results only.
func (s suite) run(ctx context.Context, names []string) ([]result, error) {
	shards, serial := split(names)
	results := make([][]result, len(shards)+1)
	group, inGroup := errgroup.WithContext(ctx)
	for i, shard := range shards {
		group.Go(func() (err error) {
			results[i], err = s.runProcess(inGroup, shard)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var err error
	results[len(shards)], err = s.runProcess(ctx, serial)
	return slices.Concat(results...), err
}

// split returns the names for each of the processes that run at the same time, and the names of tests that run
// alone. Slow tests, which wait for most of their time, have a process of their own, so that no other test waits for them.
func split(names []string) (shards [][]string, serial []string) {
	shards = make([][]string, processes+1)
	next := 0
	for _, name := range names {
		switch {
		case strings.Contains(name, "[Serial]"):
			serial = append(serial, name)
		case strings.Contains(name, "[Slow]"):
			shards[processes] = append(shards[processes], name)
		default:
			shards[next%processes] = append(shards[next%processes], name)
			next++
		}
	}
	return shards, serial
}

// runProcess runs the named tests in one process, in an order that is the same for the same names.
func (s suite) runProcess(ctx context.Context, names []string) ([]result, error) {
	if len(names) == 0 {
		return nil, nil
	}
	directory, err := os.MkdirTemp(s.directory, "process-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "report.json")
	process, err := harness.Start(s.binary, append([]string{
		"--kubeconfig=" + s.kubeconfig, "--kubectl-path=" + s.kubectl, "--ginkgo.json-report=" + file, "--ginkgo.seed=1", "--ginkgo.timeout=24h",
		"--e2e-output-dir=" + directory, "--ginkgo.no-color", "--ginkgo.focus=" + exactly(names),
	}, setupFlags...)...)
	if err != nil {
		return nil, err
	}
	ended := process.Wait(ctx)
	if ctx.Err() != nil {
		_ = process.Stop() // the report then has the tests that ended before
	}
	results, err := readResults(file)
	if err != nil {
		return nil, fmt.Errorf("%w (%v); end of the output:\n%s", err, ended, tail(process.Output()))
	}
	return results, nil
}

// exactly returns a regular expression that matches the tests with these names, and no others. Ginkgo matches it
// with the description of the suite, a space, and the name.
func exactly(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	return "^Kubernetes e2e suite (" + strings.Join(quoted, "|") + ")$"
}

// listedName matches a line of --list-tests, which has the position of a test before its name.
var listedName = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)

// listTests returns the names of all tests of the binary.
func listTests(ctx context.Context, binary string) (names []string, err error) {
	process, err := harness.Start(binary, "--list-tests")
	if err != nil {
		return nil, err
	}
	if err := process.Wait(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s", err, tail(process.Output()))
	}
	lines := bufio.NewScanner(strings.NewReader(process.Output()))
	for lines.Scan() {
		if match := listedName.FindStringSubmatch(lines.Text()); match != nil {
			names = append(names, match[1])
		}
	}
	return names, lines.Err()
}

// tail returns the end of a text.
func tail(text string) string { return text[max(0, len(text)-4000):] }
