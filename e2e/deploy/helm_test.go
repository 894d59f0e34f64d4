package deploy_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// helmCommands install, change and remove a release of the chart. RELEASE is its name, and that of its namespace. A command that fails
// begins with "! ".
var helmCommands = []string{
	"install RELEASE CHART --create-namespace --dry-run=server --set tls.secretName=tls --set image.repository=images.example/kubeconnect",
	"install RELEASE CHART --create-namespace --wait --timeout 2m --set tls.secretName=tls --set image.repository=images.example/kubeconnect",
	"! install RELEASE CHART --set tls.secretName=tls --set image.repository=images.example/kubeconnect",
	"status RELEASE",
	"list",
	"get values RELEASE",
	"get manifest RELEASE",
	"upgrade RELEASE CHART --reuse-values --set replicaCount=3 --wait --timeout 2m",
	"! upgrade RELEASE CHART --reuse-values --set replicaCount=none",
	"! upgrade missing CHART",
	"history RELEASE",
	"rollback RELEASE 1 --wait --timeout 2m",
	"history RELEASE --output json",
	"get all RELEASE",
	"uninstall RELEASE --wait --timeout 2m",
	"! status RELEASE",
	"list --all",
}

// TestHelm_WorksAtTheServiceAsAtTheAPIServer runs the commands of Helm at both, at the same time, and compares what they print.
func TestHelm_WorksAtTheServiceAsAtTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	service := harness.StartService(t, cluster(t).Kubeconfig)
	var printed [2][]string
	var running sync.WaitGroup
	for i, side := range []struct {
		release string
		flags   []string
	}{{"helm-service", []string{"--kube-apiserver", service.Address}}, {"helm-cluster", nil}} {
		home := t.TempDir()
		running.Go(func() {
			for _, line := range helmCommands {
				printed[i] = append(printed[i], helm(ctx, t, line, side.release, home, side.flags))
			}
		})
	}
	running.Wait()
	for i, command := range helmCommands {
		if got, want := printed[0][i], printed[1][i]; got != want {
			t.Errorf("helm %s:\n%s\nwant\n%s", command, got, want)
		}
	}
	if status := printed[0][3]; !strings.Contains(status, "STATUS: deployed") {
		t.Errorf("the release is not installed: %s", status)
	}
	if !regexp.MustCompile(`procedure=kubernetes/create .*resource=deployments.v1.apps namespace=helm-service`).MatchString(service.Output()) {
		t.Error("the release was not installed through the service")
	}
}

// differing are the parts of an output that differ between two releases, and from one second to the next.
var differing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?([Z+-][\d:]*)?( \+0000 UTC)?`), "TIME"},
	{regexp.MustCompile(` +`), " "},
}

// helm runs a command with the configuration of a test alone, and returns what it prints.
func helm(ctx context.Context, t *testing.T, line, release, home string, flags []string) string {
	t.Helper()
	program, err := harness.Binary("HELM_BIN", "helm")
	if err != nil {
		t.Error(err)
		return ""
	}
	words := strings.NewReplacer("RELEASE", release, "CHART", chartDir).Replace(strings.TrimPrefix(line, "! "))
	args := append(strings.Fields(words), "--namespace", release, "--kubeconfig", cluster(t).Kubeconfig)
	command := exec.CommandContext(ctx, program, append(args, flags...)...)
	command.Env = append(command.Environ(), "HELM_CACHE_HOME="+filepath.Join(home, "cache"), "HELM_CONFIG_HOME="+filepath.Join(home, "config"),
		"HELM_DATA_HOME="+filepath.Join(home, "data"))
	output, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Errorf("helm %s: %v", words, err)
	}
	if fails := strings.HasPrefix(line, "! "); fails != (err != nil) {
		t.Errorf("helm %s: error %v\n%s", words, err, output)
	}
	text := strings.ReplaceAll(string(output), release, "RELEASE")
	for _, part := range differing {
		text = part.pattern.ReplaceAllString(text, part.instead)
	}
	return text
}
