package deploy_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImage_CopiesExistingFiles parses the Dockerfile, because no builder is available here.
func TestImage_CopiesExistingFiles(t *testing.T) {
	t.Parallel()
	for _, copied := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(read(t, "Dockerfile"), -1) {
		for source := range strings.FieldsSeq(copied[1]) {
			if _, err := os.Stat(filepath.Join(root, source)); err != nil || ignored(t, source) {
				t.Errorf("the Dockerfile copies %s, which does not exist: %v", source, err)
			}
		}
	}
	for _, source := range []string{"cmd/server/main.go", "clients/package-lock.json", "clients/.npmrc", "clients/web/dist/.gitkeep", "gen/kubeconnect/v1/object.pb.go"} {
		if ignored(t, source) {
			t.Errorf("%s is excluded by .dockerignore", source)
		}
	}
	for _, source := range []string{".git/config", "bin/kubeconnect", "clients/node_modules/x", "clients/web/dist/app.js", "clients/python/x.py", "e2e/doc.go", "server/main_test.go"} {
		if !ignored(t, source) {
			t.Errorf("%s is not excluded by .dockerignore", source)
		}
	}
}

// TestImage_HasEveryPackageOfTheService checks the packages that Go lists for the service.
func TestImage_HasEveryPackageOfTheService(t *testing.T) {
	t.Parallel()
	const module = "github.com/kubeconnect/kubeconnect/"
	command := exec.Command("go", "list", "-deps", "./cmd/server")
	command.Dir = root
	listed, err := command.Output()
	succeeds(t, err)
	for line := range strings.Lines(string(listed)) {
		if dir, ours := strings.CutPrefix(strings.TrimSpace(line), module); ours && ignored(t, dir+"/x.go") {
			t.Errorf("the Dockerfile does not copy %s", dir)
		}
	}
}

func TestImage_RunsAsANumericUser(t *testing.T) {
	t.Parallel()
	if text := read(t, "Dockerfile"); !regexp.MustCompile(`(?m)^FROM scratch$(.|\n)*^USER [1-9][0-9]+:[1-9][0-9]+$`).MatchString(text) {
		t.Error("the last stage is not FROM scratch with a numeric USER other than root")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	succeeds(t, err)
	return string(text)
}

// ignored reports whether .dockerignore excludes a file: the last line that matches the file or one
// of its directories decides.
func ignored(t *testing.T, name string) (out bool) {
	t.Helper()
	for line := range strings.Lines(read(t, ".dockerignore")) {
		line = strings.TrimSpace(line)
		pattern := strings.TrimPrefix(line, "!")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for part := path.Clean(name); part != "."; part = path.Dir(part) {
			if matches(pattern, part) {
				out = pattern == line
			}
		}
	}
	return out
}

// matches supports the patterns that are used here: * within a name, and **.
func matches(pattern, name string) bool {
	expression := strings.NewReplacer(`**/`, `(.*/)?`, `*`, `[^/]*`, `.`, `\.`).Replace(pattern)
	return regexp.MustCompile("^" + expression + "$").MatchString(name)
}
