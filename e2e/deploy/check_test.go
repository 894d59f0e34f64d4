package deploy_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestCheck_UsesTheSettingsOfThePod runs kubeconnect check with what the documented command gives it:
// the arguments of the Deployment, and the variables and files of the pod.
func TestCheck_UsesTheSettingsOfThePod(t *testing.T) {
	t.Parallel()
	cluster(t)
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := release{"kubeconnect", "kubeconnect", with(variant)}.manifests(t)
			container := ofKind[appsv1.Deployment](t, all, "Deployment")[0].Spec.Template.Spec.Containers[0]
			mounted := t.TempDir()
			writeCertificate(t, mounted)
			writeConfig(t, mounted, all)
			outcomes := check(t, flagsOf(documentedArguments(t, all), mounted), variablesOf(container))
			if configuration := outcomes["configuration"]; configuration == "" || configuration == "failed" {
				t.Errorf("the configuration: %q", configuration)
			}
			if outcome := outcomes["audit log"]; slices.Contains(container.Args, "--audit-log=-") && outcome != "ok" {
				t.Errorf("the audit log: %q", outcome)
			}
			for _, arg := range container.Args {
				if resource, ok := strings.CutPrefix(arg, "--preload="); ok && outcomes["--preload "+resource] == "" {
					t.Errorf("%s is not checked: %v", arg, outcomes)
				}
			}
		})
	}
}

// documentedArguments returns the words that the inner command of the documentation prints.
func documentedArguments(t *testing.T, all []manifest) []string {
	t.Helper()
	command := regexp.MustCompile(`exec deploy/kubeconnect -- /kubeconnect check \\\n  \$\(kubectl -n kubeconnect get deploy kubeconnect -o jsonpath='(.+)'\)\n`)
	inStart, inReference := command.FindStringSubmatch(read(t, "docs/start/cluster.md")), command.FindStringSubmatch(read(t, "docs/configuration.md"))
	if inStart == nil || inReference == nil || inStart[1] != inReference[1] {
		t.Fatalf("the pages have the commands %q and %q", inStart, inReference)
	}
	path := jsonpath.New("args")
	succeeds(t, path.Parse(inStart[1]))
	var printed strings.Builder
	for _, object := range all {
		if object.GetKind() == "Deployment" {
			succeeds(t, path.Execute(&printed, object.Object))
		}
	}
	return strings.Fields(printed.String())
}

// check runs kubeconnect check with the administrator's credential, and returns the outcome of each
// check. Some fail, because the test is not in a pod.
func check(t *testing.T, flags, variables []string) map[string]string {
	t.Helper()
	return checkWith(t, cluster(t).Kubeconfig, flags, variables)
}

// checkWith runs kubeconnect check with the credential of a kubeconfig.
func checkWith(t *testing.T, kubeconfig string, flags, variables []string) map[string]string {
	t.Helper()
	path, err := harness.Binary("KUBECONNECT_BIN", "kubeconnect")
	succeeds(t, err)
	command := exec.CommandContext(deadline(t), path, append([]string{"check", "--output=json", "--kubeconfig", kubeconfig}, flags...)...)
	command.Env = append(os.Environ(), variables...)
	output, err := command.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var result struct {
		Checks []struct{ Check, Outcome, Found string }
	}
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	outcomes := map[string]string{}
	for _, one := range result.Checks {
		outcomes[one.Check] = one.Outcome
		if one.Outcome == "failed" {
			t.Logf("%s: %s", one.Check, one.Found)
		}
	}
	return outcomes
}
