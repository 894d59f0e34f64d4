package kubeconnect_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityDoc_NamesTestsThatExist holds the tables of docs/security.md to the tests that they
// name. A test is named behind the folder that it lies in.
func TestSecurityDoc_NamesTestsThatExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9/]+)`((?:,? Test\\w+)+)").FindAllStringSubmatch(readDoc(t, "docs/security.md"), -1)
	if len(named) == 0 {
		t.Fatal("no test is named")
	}
	for _, found := range named {
		there := testsIn(t, found[1])
		for name := range strings.FieldsSeq(strings.ReplaceAll(found[2], ",", " ")) {
			if !strings.Contains(there, "\nfunc "+name+"(") {
				t.Errorf("there is no %s in %s", name, found[1])
			}
		}
	}
}

// TestSecurityDoc_NamesFlagsThatExist is the same for flags of the service.
func TestSecurityDoc_NamesFlagsThatExist(t *testing.T) {
	t.Parallel()
	settings := readDoc(t, "cmd/server/settings.go") + readDoc(t, "cmd/server/reviews.go")
	for _, found := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(readDoc(t, "docs/security.md"), -1) {
		if !strings.Contains(settings, `"`+found[1]+`"`) {
			t.Errorf("there is no flag --%s", found[1])
		}
	}
}

// testsIn returns the text of the tests in a folder.
func testsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		text.WriteString(readDoc(t, file))
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
