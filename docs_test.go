package kubeconnect_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocs_NameTestsThatExist compares the documentation with the tests that it names. The name of a test
// follows that of its folder.
func TestDocs_NameTestsThatExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9/]+)`((?:,?\\s+Test\\w+)+)")
	checked := map[string]bool{}
	for _, doc := range writtenFiles(t, ".md") {
		for _, found := range named.FindAllStringSubmatch(readDoc(t, doc), -1) {
			checked[doc] = true
			there := testsIn(t, found[1])
			for name := range strings.FieldsSeq(strings.ReplaceAll(found[2], ",", " ")) {
				if !strings.Contains(there, "\nfunc "+name+"(") {
					t.Errorf("%s: there is no %s in %s", doc, name, found[1])
				}
			}
		}
	}
	for _, doc := range []string{"docs/security.md", "docs/limits.md", "docs/scenarios.md", "docs/drills.md", "docs/releases.md", "docs/sharing.md"} {
		if !checked[doc] {
			t.Errorf("%s names no test", doc)
		}
	}
}

// TestScenariosDoc_HasTheNumbersOfTests compares the names of tests with docs/scenarios.md.
func TestScenariosDoc_HasTheNumbersOfTests(t *testing.T) {
	t.Parallel()
	doc := readDoc(t, "docs/scenarios.md")
	named := regexp.MustCompile(`func TestScenario(\d+)_`).FindAllStringSubmatch(testsIn(t, "e2e"), -1)
	if len(named) == 0 {
		t.Fatal("no test is named after a scenario")
	}
	for _, found := range named {
		if !strings.Contains(doc, "\n| "+strings.TrimPrefix(found[1], "0")+" |") {
			t.Errorf("docs/scenarios.md has no scenario %s", found[1])
		}
	}
}

// TestReleasesDoc_NamesThePackagesOfThePreviousVersion compares docs/releases.md with what
// `make e2e-previous` runs.
func TestReleasesDoc_NamesThePackagesOfThePreviousVersion(t *testing.T) {
	t.Parallel()
	run := regexp.MustCompile(`(?m)^WITH_PREVIOUS = (.+)$`).FindStringSubmatch(readDoc(t, "Makefile"))
	if run == nil {
		t.Fatal("the Makefile does not define WITH_PREVIOUS")
	}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:auth|e2e/)[a-z0-9/]*)` \\|").FindAllStringSubmatch(readDoc(t, "docs/releases.md"), -1) {
		named = append(named, "./"+row[1])
	}
	if got := strings.Join(named, " "); got != run[1] {
		t.Errorf("docs/releases.md names %q, but `make e2e-previous` runs %q", got, run[1])
	}
}

// TestDocs_NameFlagsThatExist compares pages for operators with the flags of the service.
func TestDocs_NameFlagsThatExist(t *testing.T) {
	t.Parallel()
	flags := readDoc(t, "cmd/server/config/flags.go") + readDoc(t, "cmd/server/config/oidc.go") + readDoc(t, "cmd/server/config/settings.go")
	for _, doc := range []string{"docs/security.md", "docs/limits.md"} {
		for _, found := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(readDoc(t, doc), -1) {
			if !strings.Contains(flags, `"`+found[1]+`"`) {
				t.Errorf("%s names the flag --%s, which does not exist", doc, found[1])
			}
		}
	}
}

// testsIn returns the text of the tests in a folder and in the folders below it.
func testsIn(t *testing.T, folder string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			text.WriteString(readDoc(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
