package conformance_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// clusterFlags are the flags of the control plane. Some tests require two nodes. NodeRestriction is off by default in
// the API server, and kubeadm enables it. One test waits until the API server has compacted etcd, which it does every
// five minutes by default.
var clusterFlags = []string{
	"--nodes", "3",
	"--apiserver-arg", "enable-admission-plugins=NodeRestriction",
	"--apiserver-arg", "etcd-compaction-interval=1m",
}

// target is what the tests call, as if it were the API server.
type target struct {
	name string
	// address returns a URL that serves the API of the cluster until the test ends.
	address func(t *testing.T, cluster *harness.Cluster) string
	// leftOut are further tests that do not run.
	leftOut []exclusion
}

// targets are the values of UPSTREAM_E2E_TARGET. The first is the default.
var targets = []target{
	{name: "apiserver", address: func(_ *testing.T, cluster *harness.Cluster) string { return cluster.Config.Host }},
	{name: "kubeconnect", leftOut: ofTheAPIServerAlone, address: func(t *testing.T, cluster *harness.Cluster) string {
		// The tests compare whole objects.
		return harness.StartService(t, cluster.Kubeconfig, "--keep-managed-fields").Address
	}},
}

func theTarget(t *testing.T) target {
	t.Helper()
	name := os.Getenv("UPSTREAM_E2E_TARGET")
	if name == "" {
		return targets[0]
	}
	index := slices.IndexFunc(targets, func(one target) bool { return one.name == name })
	if index < 0 {
		t.Fatalf("unknown UPSTREAM_E2E_TARGET %q: must be apiserver or kubeconnect", name)
	}
	return targets[index]
}

// TestUpstream_Passes runs the tests that the selection selects, and prints the report.
func TestUpstream_Passes(t *testing.T) {
	ctx := deadline(t, runTimeout)
	under := theTarget(t)
	names, reasons := selection(t)
	names = slices.DeleteFunc(names, func(name string) bool {
		reason := reasonIn(under.leftOut, name)
		if reason != "" {
			reasons[name] = reason
		}
		return reason != ""
	})
	names = focused(t, names)

	cluster, err := harness.StartCluster(clusterFlags...)
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, cluster.Stop)
	tests := newSuite(t, cluster.Kubeconfig, under.address(t, cluster))

	start := time.Now()
	results, err := tests.run(ctx, names)
	if err != nil {
		t.Fatal(err)
	}
	shown := newReport(under.name, time.Since(start), names, results, reasons)
	t.Logf("report:\n%s", shown)
	for _, one := range shown.failed() {
		t.Errorf("%s: %s\n%s\n%s", one.state, one.name, one.position, one.message)
	}
	if len(shown.missing) > 0 {
		t.Errorf("%d tests have no result", len(shown.missing))
	}
	if len(shown.passed()) == 0 {
		t.Error("no test passed")
	}
}

// focused returns the names that match UPSTREAM_E2E_FOCUS.
func focused(t *testing.T, names []string) []string {
	t.Helper()
	pattern, err := regexp.Compile(os.Getenv("UPSTREAM_E2E_FOCUS"))
	if err != nil {
		t.Fatalf("invalid UPSTREAM_E2E_FOCUS: %v", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !pattern.MatchString(name) })
	if len(names) == 0 {
		t.Fatalf("no test matches UPSTREAM_E2E_FOCUS=%s", pattern)
	}
	return names
}
