package kubeconnect_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/version"
)

func TestVersion_IsTheSameInAllPackages(t *testing.T) {
	for file, pattern := range map[string]string{
		"deploy/kubeconnect/Chart.yaml":              `(?m)^(?:v|appV)ersion: "?([^"\n]+)"?$`,
		"clients/python/src/kubeconnect/_version.py": `__version__ = "([^"]+)"`,
		"clients/ts/package.json":                    `"version": "([^"]+)"`,
		"clients/web/package.json":                   `"version": "([^"]+)"`,
		"clients/package-lock.json":                  `"name": "@kubeconnect/[a-z]+",\n\s+"version": "([^"]+)"`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s has no version", file)
		}
		for _, match := range found {
			if match[1] != version.Number {
				t.Errorf("%s has the version %s, want %s", file, match[1], version.Number)
			}
		}
	}
}

// TestChangelog_HasTheVersion checks that the first section is that of the version, with a date or
// without one until the version is released.
func TestChangelog_HasTheVersion(t *testing.T) {
	t.Parallel()
	section := regexp.MustCompile(`(?m)^## \[([^\]]+)\] - (unreleased|\d{4}-\d{2}-\d{2})$`).FindStringSubmatch(readDoc(t, "CHANGELOG.md"))
	if section == nil || section[1] != version.Number {
		t.Errorf("the first section is %q, want that of %s", section, version.Number)
	}
}
