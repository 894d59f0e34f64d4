package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// workflows returns the paths of the workflows of GitHub Actions.
func workflows(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml"))
	succeeds(t, err)
	if len(paths) < 2 {
		t.Fatalf("workflows %q", paths)
	}
	return paths
}

func TestWorkflows_AreValid(t *testing.T) {
	t.Parallel()
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	succeeds(t, err)
	problems, err := linter.LintFiles(workflows(t), nil)
	succeeds(t, err)
	for _, problem := range problems {
		t.Error(problem)
	}
}

// TestWorkflows_HaveFewPermissions checks that a workflow can read the repository, and that only the
// job that publishes a release can write.
func TestWorkflows_HaveFewPermissions(t *testing.T) {
	t.Parallel()
	for _, path := range workflows(t) {
		text, err := os.ReadFile(path)
		succeeds(t, err)
		workflow, problems := actionlint.Parse(text)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		wantReads(t, path, workflow.Permissions)
		for name, job := range workflow.Jobs {
			if job.Permissions != nil && name != "publish" {
				t.Errorf("%s: the job %s has permissions of its own", path, name)
			}
		}
	}
}

func wantReads(t *testing.T, path string, permissions *actionlint.Permissions) {
	t.Helper()
	if permissions == nil || permissions.All != nil || len(permissions.Scopes) == 0 {
		t.Fatalf("%s: the permissions are not listed", path)
	}
	for name, scope := range permissions.Scopes {
		if scope.Value.Value != "read" {
			t.Errorf("%s: permission %s: %s", path, name, scope.Value.Value)
		}
	}
}

// TestWorkflows_PinActionsByCommit checks that no action can change behind its name: a tag can be
// moved, a commit cannot. The comment says which version the commit is.
func TestWorkflows_PinActionsByCommit(t *testing.T) {
	t.Parallel()
	for _, path := range workflows(t) {
		text, err := os.ReadFile(path)
		succeeds(t, err)
		for _, used := range regexp.MustCompile(`uses: (.+)`).FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(used[1]) {
				t.Errorf("%s uses %s", path, used[1])
			}
		}
	}
}

// TestWorkflows_RunTargetsThatExist compares the workflows with the Makefile, so that CI runs what
// anyone can run in a checkout.
func TestWorkflows_RunTargetsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	succeeds(t, err)
	commands, found := workflows(t), 0
	for _, path := range append(commands, filepath.Join(root, ".ci", "run")) {
		text, err := os.ReadFile(path)
		succeeds(t, err)
		for _, run := range regexp.MustCompile(`(?m)^.*\bmake ([a-z0-9-]+)`).FindAllStringSubmatch(string(text), -1) {
			found++
			if !strings.Contains(string(makefile), "\n"+run[1]+":") {
				t.Errorf("%s runs make %s, which does not exist", path, run[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("found only %d targets", found)
	}
}
